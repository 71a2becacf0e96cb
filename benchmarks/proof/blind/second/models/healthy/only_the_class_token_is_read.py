"""A transformer over table columns whose head reads the first token only.

Source: https://github.com/yandex-research/rtdl-revisiting-models
Odd: the outputs of all the other tokens are thrown away and the last block computes attention for
    one query; the class token has gathered what is needed.
"""

import torch
from torch import nn


class FTTransformer(nn.Module):
    def __init__(self, columns=6, dim=24, out=1):
        super().__init__()
        self.weight = nn.Parameter(0.2 * torch.randn(columns, dim))
        self.bias = nn.Parameter(0.2 * torch.randn(columns, dim))
        self.cls = nn.Parameter(0.2 * torch.randn(dim))
        self.block = nn.TransformerEncoderLayer(dim, 4, 48, 0.0, batch_first=True, norm_first=True)
        self.last_norm = nn.LayerNorm(dim)
        self.last_attention = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.ReLU(), nn.Linear(dim, out))

    def forward(self, x):
        tokens = x[..., None] * self.weight + self.bias
        tokens = torch.cat([self.cls.expand(len(x), 1, -1), tokens], 1)
        tokens = self.block(tokens)
        normed = self.last_norm(tokens)
        query = normed[:, :1]
        read = tokens[:, :1] + self.last_attention(query, normed, normed, need_weights=False)[0]
        return self.head(read[:, 0])


def example_inputs():
    return (torch.randn(32, 6),)
