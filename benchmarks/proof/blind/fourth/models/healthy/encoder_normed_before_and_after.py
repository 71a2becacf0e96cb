r"""Translation encoder with normalisation before each part and once more at the end.

Source: https://github.com/hkproj/pytorch-transformer/issues/14
Odd: The sum of a shortcut is not normalised, unlike in the paper; with a last normalisation this is
    the usual "pre-norm" form.
"""

import torch
from torch import nn


class ResidualConnection(nn.Module):
    def __init__(self, dim, dropout):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, sublayer):
        return x + self.dropout(sublayer(self.norm(x)))


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, dropout):
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, heads, dropout, batch_first=True)
        self.feed_forward = nn.Sequential(
            nn.Linear(dim, 64), nn.ReLU(), nn.Dropout(dropout), nn.Linear(64, dim)
        )
        self.residual = nn.ModuleList(ResidualConnection(dim, dropout) for _ in range(2))

    def forward(self, x, padding):
        x = self.residual[0](x, lambda y: self.attention(y, y, y, key_padding_mask=padding)[0])
        return self.residual[1](x, self.feed_forward)


class Encoder(nn.Module):
    def __init__(self, vocab=60, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.randn(1, 30, dim) * 0.02)
        self.layers = nn.ModuleList(EncoderBlock(dim, 4, 0.1) for _ in range(3))
        self.norm = nn.LayerNorm(dim)
        self.project = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids) * 32**0.5 + self.position[:, : ids.size(1)]
        for layer in self.layers:
            x = layer(x, ids == 0)
        return self.project(self.norm(x))


def build():
    return Encoder()


def example_inputs():
    ids = torch.randint(1, 60, (4, 18))
    return ids.masked_fill(torch.arange(18) >= torch.tensor([18, 9, 13, 6])[:, None], 0)
