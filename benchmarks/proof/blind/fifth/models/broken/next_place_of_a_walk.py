r"""Transformer that reads the places that a user visited and recommends the next one.

Source: https://github.com/songyangco/GETNext/issues/2
Fault: The encodings of positions are added by sample, all time steps of a sample get the same one.
Cause: position\w* .*(batch|sample|time|order|dim|axis|same|wrong)|(batch|sample) .*position\w*
    |order of the (steps|tokens|places)|(depend|mix)\w* .*(batch|samples?|row)
Place: \bpos_encoder\b|\bpe\b
"""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=200):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(max_len).unsqueeze(1)
        rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * rates)
        pe[:, 1::2] = torch.cos(position * rates)
        self.register_buffer("pe", pe.unsqueeze(1))

    def forward(self, x):
        return x + self.pe[: x.size(0)]  # here


class TransformerModel(nn.Module):
    def __init__(self, places=150, users=20, dim=32, categories=10):
        super().__init__()
        self.place = nn.Embedding(places, dim // 2)
        self.user = nn.Embedding(users, dim // 2)
        self.pos_encoder = PositionalEncoding(dim)
        layer = nn.TransformerEncoderLayer(dim, 2, 64, 0.1, batch_first=True)
        self.transformer_encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.decoder_poi = nn.Linear(dim, places)
        self.decoder_cat = nn.Linear(dim, categories)

    def forward(self, places, users):
        steps = places.size(1)
        x = torch.cat([self.place(places), self.user(users)[:, None].expand(-1, steps, -1)], 2)
        mask = nn.Transformer.generate_square_subsequent_mask(steps)
        x = self.transformer_encoder(self.pos_encoder(x * math.sqrt(x.size(2))), mask)
        return self.decoder_poi(x), self.decoder_cat(x)


def build():
    return TransformerModel()


def example_inputs():
    return torch.randint(0, 150, (5, 12)), torch.randint(0, 20, (5,))
