r"""Regression of a real value from a vector of bits.

Source: https://ai.stackexchange.com/questions/16557/what-could-be-the-problem-when-a-neural-network-with-four-hidden-layers-with-the
Fault: Each of the hidden layers ends in a sigmoid, so almost no gradient reaches the first one.
Cause: vanish|gradients?.{0,60}(small|shrink|tiny|fade|reach|weak|near zero|decay|smaller)|sigmoid
Place: sigmoid
"""

from itertools import pairwise

import torch
from torch import nn


class BitNet(nn.Module):
    def __init__(self, bits=24, hidden=500, depth=4):
        super().__init__()
        sizes = [bits] + [hidden] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        for layer in self.hidden:
            x = torch.sigmoid(layer(x))  # here
        return self.out(x)


def build():
    return BitNet()


def example_inputs():
    return torch.randint(0, 2, (64, 24)).float()
