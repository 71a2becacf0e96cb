"""A small DLRM: an MLP for dense features, embeddings for sparse ones, and interactions.

Source: https://github.com/facebookresearch/dlrm/pull/358
Fault: the biases are drawn around a large negative value, all units of the first ReLU are dead.
Cause: dead|dying|bias|never (active|fire)|always (zero|negative)|relu
Place: bot_l
"""

import math

import torch
from torch import nn


def create_mlp(sizes):
    layers = nn.ModuleList()
    for n, m in pairs(sizes):
        linear = nn.Linear(n, m)
        nn.init.normal_(linear.weight, 0.0, math.sqrt(2 / (m + n)))
        nn.init.normal_(linear.bias, -m, math.sqrt(1 / m))  # here
        layers.append(linear)
        layers.append(nn.ReLU())
    return nn.Sequential(*layers)


def pairs(sizes):
    return [(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1)]


class DLRM(nn.Module):
    def __init__(self, dense=4, rows=10, dim=8):
        super().__init__()
        self.bot_l = create_mlp([dense, 16, dim])
        self.emb_l = nn.ModuleList(nn.Embedding(rows, dim) for _ in range(2))
        self.top_l = nn.Sequential(nn.Linear(dim + 3, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, dense_x, sparse_x):
        x = self.bot_l(dense_x)
        ly = torch.stack([x] + [e(sparse_x[:, i]) for i, e in enumerate(self.emb_l)], dim=1)
        z = ly @ ly.transpose(1, 2)
        i, j = torch.tril_indices(3, 3, offset=-1)
        return self.top_l(torch.cat([x, z[:, i, j]], dim=1))


def build():
    return DLRM()


def example_inputs():
    return (
        torch.randn(16, 4),
        torch.randint(0, 10, (16, 2)),
    )
