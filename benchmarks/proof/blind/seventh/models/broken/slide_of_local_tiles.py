r"""Label of a tissue slide from its tiles, each attending to the nearest tiles only.

Source: https://github.com/agentdr1/LA_MIL/issues/3
Fault: The layer norms of the transformer layer are made but forward never calls them.
Cause: (norm\w*|layer ?norm).{0,80}(unused|never|not (used|called|applied)|n't
    |ignored|no effect|dead)
    |(unused|never (used|called)|not (used|called|applied)|ignored).{0,80}norm
    |(no|without|miss\w+).{0,20}(layer ?)?norm
Place: norm\d?
"""

import torch
from torch import nn


class LocalAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Sequential(nn.Linear(dim, dim), nn.Dropout(0.1))

    def forward(self, x, near):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        score = (q @ k.transpose(-2, -1)) * self.scale
        score = score.masked_fill(~near[:, None], float("-inf"))
        return self.out((score.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d))


class TransformerLayer(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.norm2 = nn.LayerNorm(dim)
        self.attn = LocalAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x, near):
        x = x + self.attn(x, near)  # here
        return x + self.mlp(x)  # here


class SlideLabel(nn.Module):
    def __init__(self, features=64, dim=32, neighbours=6, classes=2):
        super().__init__()
        self.neighbours = neighbours
        self.fc1 = nn.Sequential(nn.Linear(features, dim), nn.GELU())
        self.layer1, self.layer2 = TransformerLayer(dim), TransformerLayer(dim)
        self.norm = nn.LayerNorm(dim)
        self.fc2 = nn.Linear(dim, classes)

    def forward(self, tiles, place):
        distance = torch.cdist(place, place)
        limit = distance.topk(self.neighbours, largest=False).values[..., -1:]
        near = distance <= limit
        x = self.fc1(tiles)
        x = self.layer2(self.layer1(x, near), near)
        return self.fc2(self.norm(x).mean(1))


def build():
    return SlideLabel()


def example_inputs():
    return 3 * torch.randn(4, 20, 64), 10 * torch.rand(4, 20, 2)
