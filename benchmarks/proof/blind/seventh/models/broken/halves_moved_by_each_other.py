r"""Density of small vectors with affine layers, and the vectors rebuilt from their codes.

Source: https://github.com/karpathy/pytorch-normalizing-flows/issues/10
Fault: The halves are taken as even and odd entries, but they are joined one after the other, so
    the way back does not undo the way there.
Cause: (\bcat\b|concat\w*|join\w*).{0,140}(interleav|even|odd|order|permut|position|stack
    |alternat)
    |(interleav\w*|\beven\b|\bodd\b|strid\w*).{0,140}(\bcat\b|concat|join|order|restor|position
    |lost)
    |(inverse|rebuilt|reconstruct\w*|undo\w*|round.?trip).{0,80}(not|n't|wrong|differ|mismatch
    |inconsisten)
    |(not|n't|fail\w*).{0,20}(invert|undo)
Place: \bz\b|\bz0\b|\bz1\b|\bcat\b|parity|AffineHalfFlow
"""

import torch
from torch import nn


def mlp(inputs, outputs, hidden=32):
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, outputs),
    )


class AffineHalfFlow(nn.Module):
    def __init__(self, dim, parity):
        super().__init__()
        self.parity = parity
        self.s_cond, self.t_cond = mlp(dim // 2, dim // 2), mlp(dim // 2, dim // 2)

    def forward(self, x):
        x0, x1 = x[:, ::2], x[:, 1::2]
        if self.parity:
            x0, x1 = x1, x0
        s, t = self.s_cond(x0), self.t_cond(x0)
        z0, z1 = x0, s.exp() * x1 + t
        if self.parity:
            z0, z1 = z1, z0
        z = torch.cat([z0, z1], dim=1)  # here
        return z, s.sum(1)

    def backward(self, z):
        z0, z1 = z[:, ::2], z[:, 1::2]
        if self.parity:
            z0, z1 = z1, z0
        s, t = self.s_cond(z0), self.t_cond(z0)
        x0, x1 = z0, (z1 - t) * (-s).exp()
        if self.parity:
            x0, x1 = x1, x0
        return torch.cat([x0, x1], dim=1)  # here


class HalvesFlow(nn.Module):
    def __init__(self, dim=4, depth=6):
        super().__init__()
        self.flows = nn.ModuleList(AffineHalfFlow(dim, i % 2) for i in range(depth))

    def forward(self, x):
        z, log_det = x, x.new_zeros(len(x))
        for flow in self.flows:
            z, step = flow(z)
            log_det = log_det + step
        log_prob = log_det - 0.5 * (z.square() + 1.8378770664).sum(1)
        rebuilt = z
        for flow in reversed(self.flows):
            rebuilt = flow.backward(rebuilt)
        return log_prob, rebuilt


def build():
    return HalvesFlow()


def example_inputs():
    return (torch.randn(8, 4) * torch.tensor([1.0, 2.0, 0.5, 1.5]),)
