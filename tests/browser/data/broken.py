"""A network with four faults to find."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(torch.relu(self.conv1(x)))


class Scale(nn.Module):
    def forward(self, x):
        return torch.log(x - x.amin())  # log(0) at the smallest value


class Broken(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.layer1 = Block(16)
        self.layer2 = Block(16)
        self.layer3 = Block(16)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(16, 10)
        self.unused = nn.Linear(16, 10)
        self.scale = Scale()

    def forward(self, images):
        x = self.layer3(self.layer2(self.layer1(self.stem(images))))
        x = self.pool(x).flatten(1)
        return self.scale(self.head(x))


def build_model():
    return Broken()


def example_inputs():
    return (torch.randn(2, 3, 32, 32),)
