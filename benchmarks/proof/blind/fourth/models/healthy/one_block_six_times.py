r"""Universal transformer: one block is applied again and again, with a signal of depth.

Source: https://github.com/andreamad8/Universal-Transformer-Pytorch/blob/master/models/UTransformer.py
Odd: All six rounds have the same weights; the signals of place and depth are fixed.
"""

import math

import torch
from torch import nn


def timing_signal(length, channels):
    position = torch.arange(length).float()
    rates = torch.exp(torch.arange(channels // 2) * -(math.log(10000) / (channels // 2 - 1)))
    scaled = position[:, None] * rates
    return torch.cat([scaled.sin(), scaled.cos()], 1)[None]


class UniversalEncoder(nn.Module):
    def __init__(self, vocab=50, dim=32, steps=6, length=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.block = nn.TransformerEncoderLayer(dim, 4, 64, 0.0, batch_first=True, norm_first=True)
        self.register_buffer("places", timing_signal(length, dim))
        self.register_buffer("depths", timing_signal(steps, dim))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 4)
        self.steps = steps

    def forward(self, ids):
        x = self.embed(ids)
        for step in range(self.steps):
            x = self.block(x + self.places[:, : x.size(1)] + self.depths[:, step : step + 1])
        return self.head(self.norm(x).mean(1))


def build():
    return UniversalEncoder()


def example_inputs():
    return torch.randint(0, 50, (6, 14))
