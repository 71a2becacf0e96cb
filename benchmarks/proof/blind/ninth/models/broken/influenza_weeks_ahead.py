r"""Transformer that foretells the weekly number of influenza cases.

Source: https://github.com/KasperGroesLudvigsen/influenza_transformer/pull/10
Fault: The table of positions is laid out for time first, so with batch first every week gets
    the position of its series in the batch.
Cause: (position\w*|\bpe\b|encoding).{0,140}(batch|example|series|same|constant|size\(0\)
    |wrong (axis|dim))|batch.{0,80}(position\w*|\bpe\b|encoding)|size\(0\)|batch_first|(every
    |all) (time.?steps?|weeks?|tokens?|positions?).{0,40}same
Place: \bpe\b|position\w*|encod\w*|size|forward|batch_first
"""

import math

import torch
from torch import nn


class PositionalEncoder(nn.Module):
    def __init__(self, dropout=0.1, max_len=500, d_model=32):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        x = x + self.pe[: x.size(0)]  # here
        return self.dropout(x)


class Influenza(nn.Module):
    def __init__(self, features=1, d_model=32, heads=4, layers=2, weeks=4):
        super().__init__()
        self.encoder_input = nn.Linear(features, d_model)
        self.decoder_input = nn.Linear(features, d_model)
        self.positions = PositionalEncoder(d_model=d_model)
        encoder = nn.TransformerEncoderLayer(d_model, heads, 64, batch_first=True)
        decoder = nn.TransformerDecoderLayer(d_model, heads, 64, batch_first=True)
        self.encoder = nn.TransformerEncoder(encoder, layers)
        self.decoder = nn.TransformerDecoder(decoder, layers)
        self.mapping = nn.Linear(d_model, features)
        causal = torch.triu(torch.ones(weeks, weeks, dtype=torch.bool), 1)
        self.register_buffer("causal", causal)

    def forward(self, source, target):
        memory = self.encoder(self.positions(self.encoder_input(source)))
        x = self.positions(self.decoder_input(target))
        x = self.decoder(x, memory, tgt_mask=self.causal)
        return self.mapping(x)


def build():
    return Influenza()


def example_inputs():
    return torch.randn(8, 30, 1), torch.randn(8, 4, 1)
