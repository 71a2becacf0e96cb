r"""Equivariant layers over all pairs of points, which update features and coordinates.

Source: https://github.com/vgsatorras/egnn
Odd: The last layer for the coordinates has a gain of one thousandth and no bias, so points hardly
    move at first; distances enter squared and no position enters a layer by itself.
"""

import torch
from torch import nn


class EquivariantLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.edge_mlp = nn.Sequential(
            nn.Linear(2 * dim + 1, dim), nn.SiLU(), nn.Linear(dim, dim), nn.SiLU()
        )
        self.node_mlp = nn.Sequential(nn.Linear(2 * dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        last = nn.Linear(dim, 1, bias=False)
        nn.init.xavier_uniform_(last.weight, gain=0.001)
        self.coord_mlp = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), last)

    def forward(self, h, x):
        count = x.size(1)
        difference = x[:, :, None] - x[:, None]
        radial = difference.square().sum(-1, keepdim=True)
        pairs = torch.cat(
            [
                h[:, :, None].expand(-1, -1, count, -1),
                h[:, None].expand(-1, count, -1, -1),
                radial,
            ],
            dim=-1,
        )
        others = 1 - torch.eye(count)[None, :, :, None]
        message = self.edge_mlp(pairs) * others
        shift = difference / (radial.sqrt() + 1) * self.coord_mlp(message) * others
        x = x + shift.sum(2) / (count - 1)
        h = h + self.node_mlp(torch.cat([h, message.sum(2)], dim=-1))
        return h, x


class EGNN(nn.Module):
    def __init__(self, features=5, dim=24, layers=3):
        super().__init__()
        self.embedding_in = nn.Linear(features, dim)
        self.layers = nn.ModuleList(EquivariantLayer(dim) for _ in range(layers))
        self.embedding_out = nn.Linear(dim, 1)

    def forward(self, h, x):
        h = self.embedding_in(h)
        for layer in self.layers:
            h, x = layer(h, x)
        return self.embedding_out(h).sum(1), x


def build():
    return EGNN()


def example_inputs():
    kinds = torch.nn.functional.one_hot(torch.randint(0, 5, (4, 7)), 5).float()
    return kinds, torch.randn(4, 7, 3)
