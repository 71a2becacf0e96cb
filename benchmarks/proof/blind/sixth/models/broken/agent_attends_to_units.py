r"""Encoder of the units of a game, of which there are more or fewer in a scene.

Source: https://github.com/opendilab/DI-engine/issues/333
Fault: The masked scores are not assigned, so the units that are not there get attention too.
Cause: mask\w*.{0,80}(not|never|no effect|ignor|lost|unused|discard|in.?place|no influence|nothing)
    |(no effect|no influence|ignores?|unused).{0,60}mask|(padd|absent)\w*.{0,60}(attend|attention)
Place: \bmask\b|masked_fill
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.attention_pre = nn.Linear(dim, 3 * dim)
        self.project = nn.Linear(dim, dim)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask):
        query, key, value = map(self.split, self.attention_pre(x).chunk(3, dim=2))
        score = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
        score.masked_fill(~mask[:, None, None, :], value=-1e9)  # here
        score = F.softmax(score, dim=-1)
        attended = (score @ value).permute(0, 2, 1, 3).flatten(2)
        return self.project(attended)


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention = Attention(dim, heads)
        self.norm1 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.norm2 = nn.LayerNorm(dim)

    def forward(self, x, mask):
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.mlp(x))


class UnitEncoder(nn.Module):
    def __init__(self, features=12, dim=32, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Linear(features, dim)
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
        self.policy = nn.Linear(dim, 5)

    def forward(self, units, mask):
        x = F.relu(self.embed(units))
        for layer in self.layers:
            x = layer(x, mask)
        pooled = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.policy(pooled)


def build():
    return UnitEncoder()


def example_inputs():
    present = torch.arange(9)[None] < torch.tensor([9, 4, 6, 2, 7, 5])[:, None]
    return torch.randn(6, 9, 12), present
