r"""Perceptrons with a gate that mixes places.

Source: https://github.com/lucidrains/g-mlp-pytorch/blob/main/g_mlp_pytorch/g_mlp_pytorch.py
Odd: The weights over places begin near zero and their bias at one, so that each gate begins as the
    identity.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SpatialGatingUnit(nn.Module):
    def __init__(self, dim, length):
        super().__init__()
        self.norm = nn.LayerNorm(dim // 2)
        bound = 1e-3 / length
        self.weight = nn.Parameter(torch.empty(length, length).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.ones(length))

    def forward(self, x):
        res, gate = x.chunk(2, dim=-1)
        gate = torch.einsum("bnd,mn->bmd", self.norm(gate), self.weight) + self.bias[:, None]
        return gate * res


class Block(nn.Module):
    def __init__(self, dim, inner, length):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.proj_in = nn.Linear(dim, inner)
        self.sgu = SpatialGatingUnit(inner, length)
        self.proj_out = nn.Linear(inner // 2, dim)

    def forward(self, x):
        return x + self.proj_out(self.sgu(F.gelu(self.proj_in(self.norm(x)))))


class GMLP(nn.Module):
    def __init__(self, dim=24, length=16, classes=6):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 4, 4)
        self.blocks = nn.Sequential(*[Block(dim, 64, length) for _ in range(3)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, image):
        x = self.blocks(self.patch(image).flatten(2).transpose(1, 2))
        return self.head(self.norm(x).mean(1))


def build():
    return GMLP()


def example_inputs():
    return torch.randn(6, 3, 16, 16)
