r"""First stage of a cascade that places five landmarks in a face.

Source: https://github.com/luoyetx/deep-landmark/issues/17
Odd: A ReLU follows the last layer; the targets are places between 0 and 1 and never negative.
"""

import torch
from torch import nn


class FirstStage(nn.Module):
    def __init__(self, points=5):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 20, 4),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(20, 40, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(40, 60, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.fc1 = nn.Linear(60 * 9, 120)
        self.fc2 = nn.Linear(120, 2 * points)
        nn.init.normal_(self.fc2.weight, std=0.01)
        nn.init.constant_(self.fc2.bias, 0.5)

    def forward(self, face):
        x = self.conv(face).flatten(1)
        return torch.relu(self.fc2(torch.relu(self.fc1(x))))


def build():
    return FirstStage()


def example_inputs():
    return torch.rand(8, 1, 39, 39)
