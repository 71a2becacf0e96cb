r"""A denoiser of head motion with position encoding.

Source: https://github.com/DiffPoseTalk/DiffPoseTalk/issues/20
Fault: pe is indexed with the length rather than sliced up to it: all frames get the same
    encoding.
Cause: slic|index|same.*(position|encoding)|(one|single|last) (position|encoding)
Place: pe\b
"""

import math

import torch
from torch import nn


class MotionDenoiser(nn.Module):
    def __init__(self, d_model=16, max_len=60):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))
        self.proj = nn.Linear(16, d_model)
        self.block = nn.TransformerEncoderLayer(d_model, 4, 32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(d_model, 16)

    def forward(self, motion):
        x = self.proj(motion)
        x = x + self.pe[:, x.shape[1], :]  # here
        return self.out(self.block(x))


def example_inputs():
    return (torch.randn(3, 8, 16),)
