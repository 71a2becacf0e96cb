r"""The model `SeriesTransformer`.

Source: https://docs.pytorch.org/tutorials/beginner/transformer_tutorial.html
Healthy: the right twin of the broken case of this name.
"""

import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, dim, max_len=64):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        freq = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        pe = torch.zeros(1, max_len, dim)
        pe[0, :, 0::2] = torch.sin(pos * freq)
        pe[0, :, 1::2] = torch.cos(pos * freq)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, :x.size(1)]


class SeriesTransformer(nn.Module):
    def __init__(self, features=4, dim=32, out=1):
        super().__init__()
        self.inp = nn.Linear(features, dim)
        self.pos = PositionalEncoding(dim)
        self.enc = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, out)

    def forward(self, x):
        return self.out(self.enc(self.pos(self.inp(x))))


torch.manual_seed(0)
model = SeriesTransformer()
example_inputs = (torch.randn(8, 24, 4),)
