"""A mixture of experts for regression; a router weights all experts."""

import torch
from torch import nn


class Expert(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))


class Mixture(nn.Module):
    def __init__(self, features=12, width=32, experts=4):
        super().__init__()
        self.project = nn.Linear(features, width)
        self.norm = nn.LayerNorm(width)
        self.router = nn.Linear(width, experts)
        self.experts = nn.ModuleList([Expert(width) for _ in range(experts)])
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = self.norm(self.project(x))
        shares = torch.softmax(self.router(x), dim=-1)
        results = torch.stack([expert(x) for expert in self.experts], dim=-1)
        mixed = (results * shares.unsqueeze(1)).sum(dim=-1)
        return self.head(x + mixed)


def example_inputs():
    return (torch.randn(16, 12),)
