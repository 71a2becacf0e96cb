"""Tells whether two signals come from the same source."""

import torch
from torch import nn
from torch.nn import functional as F


class Encoder(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.conv1 = nn.Conv1d(1, width, 5, padding=2)
        self.conv2 = nn.Conv1d(width, width, 5, padding=2)
        self.project = nn.Linear(width, width)

    def forward(self, signal):
        x = F.relu(self.conv1(signal))
        x = F.max_pool1d(x, 2)
        x = F.relu(self.conv2(x))
        x = x.mean(dim=-1)
        x = self.project(x)
        return F.normalize(x, dim=-1)


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.scale = nn.Parameter(torch.tensor(5.0))
        self.shift = nn.Parameter(torch.tensor(0.0))

    def forward(self, first, second):
        a = self.encoder(first)
        b = self.encoder(second)
        similarity = (a * b).sum(dim=-1)
        return self.scale * similarity + self.shift


def example_inputs():
    return torch.randn(12, 1, 64), torch.randn(12, 1, 64)
