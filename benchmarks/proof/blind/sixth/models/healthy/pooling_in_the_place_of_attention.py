r"""Blocks of a vision model where tokens are mixed without any weight.

Source: https://github.com/sail-sg/poolformer
Odd: The mixer subtracts its input from the mean of the neighbours, as the sum with the input
    follows; the branches of a block start scaled to one hundred thousandth.
"""

import torch
from torch import nn


class Pooling(nn.Module):
    def __init__(self, pool_size=3):
        super().__init__()
        self.pool = nn.AvgPool2d(pool_size, 1, pool_size // 2, count_include_pad=False)

    def forward(self, x):
        return self.pool(x) - x


class PoolFormerBlock(nn.Module):
    def __init__(self, dim, layer_scale_init_value=1e-5):
        super().__init__()
        self.norm1 = nn.GroupNorm(1, dim)
        self.token_mixer = Pooling()
        self.norm2 = nn.GroupNorm(1, dim)
        self.mlp = nn.Sequential(nn.Conv2d(dim, 4 * dim, 1), nn.GELU(), nn.Conv2d(4 * dim, dim, 1))
        self.layer_scale_1 = nn.Parameter(layer_scale_init_value * torch.ones(dim, 1, 1))
        self.layer_scale_2 = nn.Parameter(layer_scale_init_value * torch.ones(dim, 1, 1))

    def forward(self, x):
        x = x + self.layer_scale_1 * self.token_mixer(self.norm1(x))
        return x + self.layer_scale_2 * self.mlp(self.norm2(x))


class PoolFormer(nn.Module):
    def __init__(self, dims=(16, 32), classes=6):
        super().__init__()
        self.embed = nn.Conv2d(3, dims[0], 7, stride=4, padding=2)
        self.stage1 = nn.Sequential(PoolFormerBlock(dims[0]), PoolFormerBlock(dims[0]))
        self.down = nn.Conv2d(dims[0], dims[1], 3, stride=2, padding=1)
        self.stage2 = nn.Sequential(PoolFormerBlock(dims[1]), PoolFormerBlock(dims[1]))
        self.norm = nn.GroupNorm(1, dims[1])
        self.head = nn.Linear(dims[1], classes)

    def forward(self, x):
        x = self.stage2(self.down(self.stage1(self.embed(x))))
        return self.head(self.norm(x).mean((-2, -1)))


def build():
    return PoolFormer()


def example_inputs():
    return torch.rand(4, 3, 32, 32)
