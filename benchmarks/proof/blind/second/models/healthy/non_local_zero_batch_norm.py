"""A non-local block in a small video network.

Source: https://github.com/AlexHex7/Non-local_pytorch/issues/38
Odd: the batch norm that ends the block is filled with zeros, so the block is the identity at first
    and its inner convolutions have no gradient yet; the weight of the norm gets one.
"""

import torch
from torch import nn


class NonLocalBlock(nn.Module):
    def __init__(self, channels, inter):
        super().__init__()
        self.theta = nn.Conv2d(channels, inter, 1)
        self.phi = nn.Conv2d(channels, inter, 1)
        self.g = nn.Conv2d(channels, inter, 1)
        self.W = nn.Sequential(nn.Conv2d(inter, channels, 1), nn.BatchNorm2d(channels))
        nn.init.constant_(self.W[1].weight, 0)
        nn.init.constant_(self.W[1].bias, 0)

    def forward(self, x):
        batch = x.size(0)
        g_x = self.g(x).flatten(2).transpose(1, 2)
        f = self.theta(x).flatten(2).transpose(1, 2) @ self.phi(x).flatten(2)
        y = (f / f.size(-1)) @ g_x
        y = y.transpose(1, 2).reshape(batch, -1, *x.shape[2:])
        return self.W(y) + x


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            NonLocalBlock(16, 8),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
        )
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        return self.fc(self.convs(x).mean((2, 3)))


def build():
    return Network()


def example_inputs():
    return (torch.randn(4, 1, 28, 28),)
