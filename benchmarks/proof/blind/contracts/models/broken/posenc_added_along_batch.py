r"""The model `SeriesTransformer`.

Source: https://docs.pytorch.org/tutorials/beginner/transformer_tutorial.html
Fault: The positional table [max_len, 1, d] is added to a batch-first tensor, so positions follow
    the batch index instead of time.
Cause: position.*(batch|sample|wrong (axis|dim)|time|constant)
    |(batch|sample) (index|dim|axis|position|order).*|batch_?first|wrong (axis|dim)
"""

import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, dim, max_len=64):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        freq = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        pe = torch.zeros(max_len, 1, dim)
        pe[:, 0, 0::2] = torch.sin(pos * freq)
        pe[:, 0, 1::2] = torch.cos(pos * freq)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:x.size(0)]


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
