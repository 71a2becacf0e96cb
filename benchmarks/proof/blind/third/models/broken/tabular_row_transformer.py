r"""Transformer encoder over the columns of transaction rows.

Source: https://github.com/IBM/TabFormer/pull/14
Fault: The encoder expects (sequence, batch, features) but gets batch first, so rows attend rows.
Cause: batch_first|(batch|first|0).*(sequence|dim|axis).*(attention|transformer|encoder)
    |(mix|depend|leak|attend)\w* .*(samples|batch|rows)
Place: encoder|TransformerEncoder|batch_first|forward|RowEncoder
"""

import torch
from torch import nn


class RowEncoder(nn.Module):
    def __init__(self, columns=7, vocab=40, dim=16, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.column = nn.Parameter(torch.randn(columns, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, 4, 32, dropout=0.1)  # here
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(columns * dim, classes)

    def forward(self, rows):
        x = self.embed(rows) + self.column
        return self.head(self.encoder(x).flatten(1))


def build():
    return RowEncoder()


def example_inputs():
    return torch.randint(0, 40, (5, 7))
