r"""Attention over the hours of a stay in intensive care, each seeing only the hours before.

Source: https://github.com/khirotaka/SAnD/issues/6
Fault: The self-attention gets no mask, so the output of an hour depends on hours that come
    later.
Cause: (no|without|miss\w*|lack\w*|forg\w*|omit\w*|never|not|absent).{0,60}(causal|mask\w*)
    |(mask\w*|causal).{0,80}(miss\w*|not|never|absent|omit\w*|forg\w*|lack\w*|none)|(see\w*
    |look\w*|leak\w*|attend\w*|depend\w*|use\w*|peek\w*).{0,60}(future|later|ahead|following
    |subsequent)|(future|later).{0,60}(leak\w*|visible|seen|attended)|not causal|non.?causal
Place: mask\w*|attention|forward|EncoderBlock|attn\w*
"""

import math

import torch
from torch import nn


class Positions(nn.Module):
    def __init__(self, size, length):
        super().__init__()
        position = torch.arange(length).unsqueeze(1)
        rate = torch.exp(torch.arange(0, size, 2) * (-math.log(10000.0) / size))
        table = torch.zeros(length, size)
        table[:, 0::2], table[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)]


class ResidualBlock(nn.Module):
    def __init__(self, layer, size, dropout):
        super().__init__()
        self.layer, self.norm = layer, nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)
        self.attends = isinstance(layer, nn.MultiheadAttention)

    def forward(self, x):
        if self.attends:
            out, _ = self.layer(x, x, x, need_weights=False)  # here
        else:
            out = self.layer(x)
        return self.norm(x + self.dropout(out))


class EncoderBlock(nn.Module):
    def __init__(self, size, heads, dropout):
        super().__init__()
        attention = nn.MultiheadAttention(size, heads, batch_first=True)
        ffn = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))
        self.attention = ResidualBlock(attention, size, dropout)
        self.ffn = ResidualBlock(ffn, size, dropout)

    def forward(self, x):
        return self.ffn(self.attention(x))


class IntensiveCare(nn.Module):
    def __init__(self, measures=23, hours=48, size=32, heads=4, layers=2, conditions=5):
        super().__init__()
        self.embedding = nn.Conv1d(measures, size, 1)
        self.positions = Positions(size, hours)
        self.blocks = nn.ModuleList(EncoderBlock(size, heads, 0.2) for _ in range(layers))
        self.each_hour = nn.Linear(size, conditions)

    def forward(self, x):
        x = self.positions(self.embedding(x.transpose(1, 2)).transpose(1, 2))
        for block in self.blocks:
            x = block(x)
        return self.each_hour(x)


def build():
    return IntensiveCare()


def example_inputs():
    return (torch.randn(4, 48, 23),)
