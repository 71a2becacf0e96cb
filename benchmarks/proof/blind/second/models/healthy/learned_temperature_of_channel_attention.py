"""Efficient paired attention over channels, as in a medical transformer.

Source: https://github.com/Amshaker/unetr_plus_plus/issues/80
Odd: the scores are not divided by sqrt(d) but multiplied by a learnt temperature that starts at
    one; queries and keys are normalised, so the scores stay in [-1, 1].
"""

import torch
import torch.nn.functional as F
from torch import nn


class ChannelAttention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out_proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 4, 1)
        q, k, v = qkv.unbind(0)
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        attn = ((q @ k.transpose(-2, -1)) * self.temperature).softmax(-1)
        x_ca = (attn @ v).permute(0, 3, 1, 2).reshape(b, n, c)
        return self.out_proj(x_ca)


class EPABlock(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.gamma = nn.Parameter(1e-6 * torch.ones(dim))
        self.attn = ChannelAttention(dim)
        self.conv = nn.Conv1d(dim, dim, 3, padding=1)

    def forward(self, x):
        x = x + self.gamma * self.attn(self.norm(x))
        return x + self.conv(x.transpose(1, 2)).transpose(1, 2)


def build():
    return nn.Sequential(EPABlock(), EPABlock())


def example_inputs():
    return (torch.randn(2, 50, 32),)
