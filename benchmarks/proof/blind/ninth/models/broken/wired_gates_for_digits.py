r"""Classifier made of logic gates, each wired to two outputs of the layer below.

Source: https://github.com/ligerlac/torchlogix/pull/23
Fault: The random wiring is a plain attribute, so it is not in the saved state and loaded gates
    meet another wiring.
Cause: (buffer|state.?dict|saved?\b|checkpoint|persist\w*|reload\w*|restor\w*).{0,100}
    |register_buffer|plain (attribute|tensor)|unregistered|not registered
Place: indices|index|wiring|connect\w*|__init__|buffer
"""

import torch
from torch import nn


def gates(a, b):
    both = a * b
    either = a + b - both
    differ = a + b - 2 * both
    one = torch.ones_like(a)
    half = [torch.zeros_like(a), both, a - both, a, b - both, b, differ, either]
    return torch.stack(half + [one - gate for gate in reversed(half)], -1)


class LogicLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        order = torch.cat([torch.randperm(inputs) for _ in range(2 * outputs // inputs + 1)])
        self.indices = order[: 2 * outputs].view(2, outputs)  # here
        self.weight = nn.Parameter(torch.randn(outputs, 16))

    def forward(self, x):
        a, b = x[:, self.indices[0]], x[:, self.indices[1]]
        if self.training:
            choice = self.weight.softmax(1)
        else:
            choice = nn.functional.one_hot(self.weight.argmax(1), 16).to(x.dtype)
        return (gates(a, b) * choice).sum(-1)


class GroupSum(nn.Module):
    def __init__(self, classes, tau):
        super().__init__()
        self.classes, self.tau = classes, tau

    def forward(self, x):
        return x.view(len(x), self.classes, -1).sum(2) / self.tau


class LogicGates(nn.Module):
    def __init__(self, pixels=256, width=300, classes=10):
        super().__init__()
        self.layers = nn.Sequential(
            LogicLayer(pixels, width),
            LogicLayer(width, width),
            LogicLayer(width, width),
            GroupSum(classes, 6.0),
        )

    def forward(self, x):
        return self.layers((x.flatten(1) > 0.5).float())


def build():
    return LogicGates()


def example_inputs():
    return (torch.rand(8, 1, 16, 16),)
