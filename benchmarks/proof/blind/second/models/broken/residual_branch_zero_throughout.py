r"""A searched network whose residual blocks should start as the identity.

Source: https://github.com/DrChainsaw/NaiveGAflux.jl/issues/39
Fault: all the layers of a block are filled with zeros and not only the last, so no gradient passes
    through the branch and it can never be updated.
Cause: zero.?(init|fill|weight)|(init\w*|weights?|layers?|convolutions?)\b.*\bzeros?\b|only the last
Place: identity_init|zeros_|branch
"""

import torch
from torch import nn


def identity_init(branch):
    for module in branch.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.zeros_(module.weight)  # here
            nn.init.zeros_(module.bias)
    return branch


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.branch = identity_init(
            nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1),
                nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1),
            )
        )

    def forward(self, x):
        return x + self.branch(x)


class GrownNet(nn.Module):
    def __init__(self, channels=12, blocks=3, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(3, channels, 3, 2, 1)
        self.blocks = nn.Sequential(*(ResidualBlock(channels) for _ in range(blocks)))
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x).relu()).mean((2, 3)))


def build():
    return GrownNet()


def example_inputs():
    return (torch.randn(4, 3, 24, 24),)
