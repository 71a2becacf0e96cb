r"""Density of points by masked layers which can be run in both directions.

Source: https://github.com/ikostrikov/pytorch-flows/issues/16
Fault: In the inverse direction the log-determinant keeps the minus sign of the forward
    direction.
Cause: \b(wrong|same|flip\w*|opposite|incorrect|invert\w*) sign|\b(sign
    |minus)\b.{0,120}(log.?det\w*|jacobian|determinant|inverse|reverse|sampling)|(log.?det\w*
    |jacobian|determinant).{0,140}(inverse|reverse|sign|minus|negat\w*|sampling)|(inverse
    |reverse).{0,100}(log.?det\w*|jacobian|determinant)|-a\.sum
Place: log.?det\w*|\ba\b|inverse|\bmode\b|forward|-a|sum|return
"""

import torch
from torch import nn


def mask(inputs, outputs, features, kind):
    before = torch.arange(inputs) % (features if kind == "input" else features - 1)
    after = torch.arange(outputs) % (features if kind == "output" else features - 1)
    if kind == "output":
        after = after - 1
    return (after.unsqueeze(-1) >= before.unsqueeze(0)).float()


class MaskedLinear(nn.Module):
    def __init__(self, inputs, outputs, mask):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.register_buffer("mask", mask)

    def forward(self, x):
        return nn.functional.linear(x, self.linear.weight * self.mask, self.linear.bias)


class MADE(nn.Module):
    def __init__(self, features, hidden):
        super().__init__()
        self.joiner = MaskedLinear(features, hidden, mask(features, hidden, features, "input"))
        output = mask(hidden, 2 * features, features, "output")
        self.trunk = nn.Sequential(
            nn.Tanh(),
            MaskedLinear(hidden, hidden, mask(hidden, hidden, features, None)),
            nn.Tanh(),
            MaskedLinear(hidden, 2 * features, output),
        )

    def forward(self, inputs, mode="direct"):
        if mode == "direct":
            m, a = self.trunk(self.joiner(inputs)).chunk(2, 1)
            u = (inputs - m) * torch.exp(-a)
            return u, -a.sum(-1, keepdim=True)
        x = torch.zeros_like(inputs)
        for i in range(inputs.shape[1]):
            m, a = self.trunk(self.joiner(x)).chunk(2, 1)
            column = inputs[:, i] * torch.exp(a[:, i]) + m[:, i]
            x = torch.cat([x[:, :i], column.unsqueeze(1), x[:, i + 1 :]], 1)
        return x, -a.sum(-1, keepdim=True)  # here


class MaskedFlow(nn.Module):
    def __init__(self, features=4, hidden=32, blocks=3):
        super().__init__()
        self.blocks = nn.ModuleList(MADE(features, hidden) for _ in range(blocks))

    def log_normal(self, z):
        return (-0.5 * z.square() - 0.9189385).sum(-1, keepdim=True)

    def forward(self, points, noise):
        z, total = points, 0
        for block in self.blocks:
            z, logdet = block(z)
            z, total = z.flip(1), total + logdet
        log_density = self.log_normal(z) + total
        x, back = noise, 0
        for block in reversed(self.blocks):
            x, logdet = block(x.flip(1), mode="inverse")
            back = back + logdet
        log_sample = self.log_normal(noise) - back
        return log_density, x, log_sample


def build():
    return MaskedFlow()


def example_inputs():
    return torch.randn(16, 4), torch.randn(16, 4)
