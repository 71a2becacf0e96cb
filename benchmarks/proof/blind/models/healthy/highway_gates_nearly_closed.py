"""A highway network whose gates start almost closed.

Source: https://github.com/kefirski/pytorch_Highway/issues/1
Odd: the bias of each gate is -2, so most of the signal passes by the layers at first.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Highway(nn.Module):
    def __init__(self, size=12, num_layers=4, classes=3):
        super().__init__()
        self.nonlinear = nn.ModuleList(nn.Linear(size, size) for _ in range(num_layers))
        self.gate = nn.ModuleList(nn.Linear(size, size) for _ in range(num_layers))
        self.out = nn.Linear(size, classes)
        for gate in self.gate:
            nn.init.constant_(gate.bias, -2.0)

    def forward(self, x):
        for layer, gate in zip(self.nonlinear, self.gate, strict=True):
            g = torch.sigmoid(gate(x))
            x = g * F.relu(layer(x)) + (1 - g) * x
        return self.out(x)


def example_inputs():
    return (torch.randn(16, 12),)
