r"""Recurrent model of patients whose measurements are missing most of the time.

Source: https://github.com/zhiyongc/GRU-D/issues/2
Fault: The candidate state is computed from the undamped state, so the reset gate is computed but
    has no effect.
Cause: reset\w*.{0,100}(un-?used|never|no effect|ignor\w*|not (used|appl\w*|multipl\w*)|dead
    |without|no grad\w*|missing|n't)|(candidate|h_tilde|new state).{0,120}(reset|\br\b|gate
    |combined)|(\br\b|rl).{0,40}(unused|never used|not used|no effect|no gradient|dead|has no)
Place: \br\b|\brl\b|reset|h_tilde|combined|\bhl\b|step|candidate
"""

import torch
from torch import nn


class Decay(nn.Module):
    def __init__(self, inputs, outputs, diagonal=False):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        if diagonal:
            self.register_buffer("filter", torch.eye(inputs))
        else:
            self.filter = None

    def forward(self, delta):
        weight = self.linear.weight
        if self.filter is not None:
            weight = weight * self.filter
        x = nn.functional.linear(delta, weight, self.linear.bias)
        return torch.exp(-torch.relu(x))


class Measurements(nn.Module):
    def __init__(self, measures=12, hidden=32, x_mean=None):
        super().__init__()
        self.hidden = hidden
        total = 2 * measures + hidden
        self.zl, self.rl = nn.Linear(total, hidden), nn.Linear(total, hidden)
        self.hl = nn.Linear(total, hidden)
        self.gamma_x = Decay(measures, measures, diagonal=True)
        self.gamma_h = Decay(measures, hidden)
        self.register_buffer("x_mean", torch.zeros(measures) if x_mean is None else x_mean)
        self.fc = nn.Linear(hidden, 1)

    def step(self, x, x_last, h, mask, delta):
        delta_x, delta_h = self.gamma_x(delta), self.gamma_h(delta)
        x = mask * x + (1 - mask) * (delta_x * x_last + (1 - delta_x) * self.x_mean)
        h = delta_h * h
        combined = torch.cat((x, h, mask), 1)
        z = torch.sigmoid(self.zl(combined))
        r = torch.sigmoid(self.rl(combined))
        h_tilde = torch.tanh(self.hl(combined))  # here
        return (1 - z) * h + z * h_tilde

    def forward(self, x, x_last, mask, delta):
        h = x.new_zeros(x.size(0), self.hidden)
        for t in range(x.size(1)):
            h = self.step(x[:, t], x_last[:, t], h, mask[:, t], delta[:, t])
        return self.fc(h).squeeze(1)


def build():
    return Measurements()


def example_inputs():
    mask = (torch.rand(6, 15, 12) > 0.7).float()
    return torch.randn(6, 15, 12) * mask, torch.randn(6, 15, 12), mask, torch.rand(6, 15, 12)
