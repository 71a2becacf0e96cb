"""A deep residual MLP whose blocks are checkpointed.

Source: https://pytorch.org/docs/stable/checkpoint.html
Odd: the forward of each block runs twice in a training step; the activations are not kept but
    computed again in the backward.
"""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.net = nn.Sequential(nn.Linear(dim, 2 * dim), nn.SiLU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.net(self.norm(x))


class CheckpointedMLP(nn.Module):
    def __init__(self, features=12, dim=32, depth=8, classes=4):
        super().__init__()
        self.stem = nn.Linear(features, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            if self.training:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return self.head(x)


def build():
    return CheckpointedMLP()


def example_inputs():
    return (torch.randn(16, 12),)
