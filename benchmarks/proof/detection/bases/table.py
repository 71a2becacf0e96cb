"""Classifies rows of a table."""

import torch
from torch import nn


class TableNet(nn.Module):
    def __init__(self, features=20, width=64, classes=5):
        super().__init__()
        self.norm = nn.LayerNorm(features)
        self.encoder = nn.Sequential(
            nn.Linear(features, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.gate = nn.Linear(width, width)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.norm(x)
        hidden = self.encoder(x)
        hidden = hidden * torch.sigmoid(self.gate(hidden))
        hidden = self.dropout(hidden)
        return self.head(hidden)


def example_inputs():
    return (torch.randn(16, 20),)
