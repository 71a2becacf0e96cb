r"""Attention within windows that are shifted every other layer.

Source: https://github.com/microsoft/Swin-Transformer/blob/main/models/swin_transformer.py
Odd: A roll brings places from the other side into a window; a mask of -100 forbids these pairs.
"""

import torch
from torch import nn


class WindowAttention(nn.Module):
    def __init__(self, dim, heads, window, length, shift):
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift
        self.norm = nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.relative_position_bias_table = nn.Parameter(torch.zeros(2 * window - 1, heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)
        side = torch.arange(window)
        self.register_buffer("index", side[:, None] - side + window - 1)
        region = (torch.arange(length) >= length - window).long()
        region = (region + (torch.arange(length) >= length - shift)) if shift else region * 0
        region = region.view(-1, window)
        self.register_buffer("attn_mask", -100.0 * (region[:, None] != region[:, :, None]))

    def forward(self, x):
        b, n, dim = x.shape
        y = self.norm(x).roll(-self.shift, 1).view(b, -1, self.window, dim)
        q, k, v = self.qkv(y).unflatten(-1, (3, self.heads, -1)).permute(3, 0, 1, 4, 2, 5)
        scores = q @ k.transpose(-1, -2) * q.size(-1) ** -0.5
        scores = scores + self.relative_position_bias_table[self.index].permute(2, 0, 1)
        weights = (scores + self.attn_mask[:, None]).softmax(-1)
        y = (weights @ v).transpose(2, 3).reshape(b, n, dim).roll(self.shift, 1)
        return x + self.proj(y)


class Swin(nn.Module):
    def __init__(self, dim=24, length=24, window=6, classes=5):
        super().__init__()
        self.patch = nn.Conv1d(2, dim, 2, 2)
        self.layers = nn.ModuleList(WindowAttention(dim, 3, window, length, s) for s in (0, 3))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, signal):
        x = self.patch(signal).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))


def build():
    return Swin()


def example_inputs():
    return torch.randn(6, 2, 48)
