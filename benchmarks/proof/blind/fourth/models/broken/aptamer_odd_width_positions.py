r"""Encoder of aptamers with sines and cosines as positions.

Source: https://github.com/gc-os-ai/pyaptamer/issues/607
Fault: With an odd width there is one cosine less than sines, and the assignment fails.
Cause: (expanded )?size of (the )?tensor|\b1[34]\b|odd|shape
Place: \bpe\b|PositionalEncoding
"""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(1, max_len, d_model)
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term)  # here
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:, : x.size(1)]


class AptamerEncoder(nn.Module):
    def __init__(self, bases=6, d_model=27):
        super().__init__()
        self.embed = nn.Embedding(bases, d_model)
        self.positions = PositionalEncoding(d_model)
        self.encoder = nn.TransformerEncoderLayer(d_model, 3, 48, batch_first=True)
        self.head = nn.Linear(d_model, 2)

    def forward(self, bases):
        return self.head(self.encoder(self.positions(self.embed(bases))).mean(1))


def build():
    return AptamerEncoder()


def example_inputs():
    return torch.randint(0, 6, (4, 20))
