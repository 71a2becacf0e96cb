r"""A small encoder with sinusoidal positions.

Source: https://github.com/AkiRusProd/numpy-transformer/issues/1
    https://github.com/cmu-l3/anlp-fall2025-code/issues/1
Fault: the encoding is sliced by batch size and added along the batch: tokens have no position.
Cause: (position|encod).*(batch|dim|axis|sample|wrong)|(batch|dim|axis|size\(0\)).*(position|encod)
Place: pe\b|pos
"""

import math

import torch
from torch import nn


class TinyEncoder(nn.Module):
    def __init__(self, vocab=15, d_model=16, max_len=50):
        super().__init__()
        self.emb = nn.Embedding(vocab, d_model)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)
        self.layer = nn.TransformerEncoderLayer(d_model, 2, 32, dropout=0.0, batch_first=True)
        self.fc = nn.Linear(d_model, vocab)

    def forward(self, tokens):
        x = self.emb(tokens)
        x = x + self.pe[: x.size(0)]  # here
        return self.fc(self.layer(x))


def example_inputs():
    return (torch.randint(0, 15, (4, 6)),)
