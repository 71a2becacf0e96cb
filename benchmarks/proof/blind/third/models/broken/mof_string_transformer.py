r"""Transformer regressor over the string representation of metal-organic frameworks.

Source: https://github.com/zcao0420/MOFormer/issues/9
Fault: The positional table is indexed by the batch size, so all places of one string share a code.
Cause: posit\w*.*(batch|dim(ension)?[ =]*0|wrong (dim|axis)|size\(0\)|broadcast)|batch.*posit
    |depend\w* on .*(batch|row|sample)
Place: pe\b|pos_encoder|PositionalEncoding|forward
"""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=128):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]  # here


class MOFRegressor(nn.Module):
    def __init__(self, ntoken=50, d_model=32):
        super().__init__()
        self.d_model = d_model
        self.token_encoder = nn.Embedding(ntoken, d_model)
        self.pos_encoder = PositionalEncoding(d_model)
        layer = nn.TransformerEncoderLayer(d_model, 4, 64, dropout=0.0, batch_first=True)
        self.transformer_encoder = nn.TransformerEncoder(layer, 2)
        self.fc = nn.Linear(d_model, 1)

    def forward(self, src):
        x = self.pos_encoder(self.token_encoder(src) * math.sqrt(self.d_model))
        return self.fc(self.transformer_encoder(x)[:, 0])


def build():
    return MOFRegressor()


def example_inputs():
    return torch.randint(0, 50, (6, 20))
