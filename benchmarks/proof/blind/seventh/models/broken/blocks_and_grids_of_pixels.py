r"""Picture classifier with attention within blocks and over a sparse grid, one after the other.

Source: https://github.com/ChristophReich1996/MaxViT/issues/8
Fault: The second half of the attention block multiplies by the output of the MLP; it should add.
Cause: (multipl|product|\*).{0,100}(add|sum|residual|skip|shortcut|instead|mlp|\+)
    |(residual|skip|shortcut).{0,80}(multipl|product|\*|wrong|not add)
Place: \bmlp\b|output|\bAttend\b|residual|norm_2|attend
"""

import torch
from torch import nn


def block_partition(x, p):
    b, h, w, c = x.shape
    x = x.view(b, h // p, p, w // p, p, c).transpose(2, 3)
    return x.reshape(-1, p * p, c)


def block_reverse(x, p, h, w):
    x = x.view(-1, h // p, w // p, p, p, x.shape[-1]).transpose(2, 3)
    return x.reshape(-1, h, w, x.shape[-1])


def grid_partition(x, g):
    b, h, w, c = x.shape
    x = x.view(b, g, h // g, g, w // g, c).permute(0, 2, 4, 1, 3, 5)
    return x.reshape(-1, g * g, c)


def grid_reverse(x, g, h, w):
    x = x.view(-1, h // g, w // g, g, g, x.shape[-1]).permute(0, 3, 1, 4, 2, 5)
    return x.reshape(-1, h, w, x.shape[-1])


class Attend(nn.Module):
    def __init__(self, dim, split, join, size=4, heads=4):
        super().__init__()
        self.split, self.join, self.size = split, join, size
        self.norm_1, self.norm_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        h, w = x.shape[1:3]
        part = self.split(x, self.size)
        y = self.norm_1(part)
        output = part + self.attention(y, y, y, need_weights=False)[0]
        output = output * self.mlp(self.norm_2(output))  # here
        return self.join(output, self.size, h, w)


class BlocksAndGrids(nn.Module):
    def __init__(self, dim=32, classes=10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, dim, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(dim),
            nn.GELU(),
        )
        self.block = Attend(dim, block_partition, block_reverse)
        self.grid = Attend(dim, grid_partition, grid_reverse)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.grid(self.block(self.stem(x).permute(0, 2, 3, 1)))
        return self.head(self.norm(x.mean(dim=(1, 2))))


def build():
    return BlocksAndGrids()


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
