r"""Tabular classifier whose columns attend to each other, with one embedder per numeric column.

Source: https://github.com/somepago/saint/issues/23
Fault: The little networks for the numeric columns and the head are stacks of linear layers with
    nothing between them, so each is one linear map.
Cause: (no|without|miss\w*|lack\w*|absent|needs?|never).{0,40}(activation|non-?linear|relu)
    |(linear|layers?).{0,60}(collaps|equivalent|single linear|one linear|nothing between)
    |(consecutive|stacked|back.to.back|successive|two|several).{0,30}linear
Place: \bmlp\b|simple_mlp|embedders?|\bhead\b|layers?
"""

import torch
from torch import nn


def simple_mlp(dims):
    layers = []
    for a, b in zip(dims[:-1], dims[1:]):
        layers.append(nn.Linear(a, b))  # here
    return nn.Sequential(*layers)


class ColumnBlock(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.ff(self.norm2(x))


class MixedColumns(nn.Module):
    def __init__(self, levels=(5, 9, 3), numeric=4, dim=16, classes=3):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, dim) for n in levels)
        self.embedders = nn.ModuleList(simple_mlp([1, 32, dim]) for _ in range(numeric))
        self.cls = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        self.blocks = nn.ModuleList(ColumnBlock(dim, 4) for _ in range(2))
        self.head = simple_mlp([dim, 40, classes])

    def forward(self, category, number):
        cols = [t(category[:, i]) for i, t in enumerate(self.tables)]
        cols += [e(number[:, i : i + 1]) for i, e in enumerate(self.embedders)]
        x = torch.cat([self.cls.expand(len(number), -1, -1), torch.stack(cols, dim=1)], dim=1)
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0])


def build():
    return MixedColumns()


def example_inputs():
    category = torch.stack([torch.randint(0, n, (8,)) for n in (5, 9, 3)], dim=1)
    return category, torch.randn(8, 4)
