r"""Velocity field of a flow that turns noise into codes of a melody, led by a short text.

Source: https://github.com/facebookresearch/audiocraft/pull/598
Fault: To take off the text in front, the last T entries are kept along the features, not along
    time, so the text stays and features are lost.
Cause: (slic\w*|index\w*|\bcuts?\b|crop\w*|truncat\w*|keeps?|taken?|removal
    |last).{0,120}(\bdim\w*|axis|feature|channel|along time|time axis|sequence|prefix)
    |(prefix|prepended|text|condition\w*).{0,100}(not removed|remain|stays|still|wrong|left in
    |kept)
Place: v_theta|\bT\b|velocity
"""

import math

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.ff(self.norm2(x))


class MelodyFlow(nn.Module):
    def __init__(self, flow_dim=32, dim=48, vocab=60, length=40):
        super().__init__()
        self.in_proj = nn.Linear(flow_dim, dim)
        self.place = nn.Parameter(0.02 * torch.randn(length, dim))
        self.words = nn.Embedding(vocab, dim)
        self.time = nn.Sequential(nn.Linear(32, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.blocks = nn.ModuleList(Block(dim, 4) for _ in range(3))
        self.out_norm = nn.LayerNorm(dim)
        self.linear = nn.Linear(dim, flow_dim)

    def embed_time(self, t):
        frequency = torch.exp(-math.log(1e4) * torch.arange(16) / 16)
        angle = 1000 * t[:, None] * frequency
        return self.time(torch.cat([angle.cos(), angle.sin()], dim=1))

    def forward(self, z, t, text):
        B, T, D = z.shape
        x = self.in_proj(z) + self.place[:T]
        x = torch.cat([self.words(text), x], dim=1) + self.embed_time(t)[:, None]
        for block in self.blocks:
            x = block(x)
        v_theta = self.linear(self.out_norm(x))
        v_theta = v_theta[:, :, -T:]  # here
        return v_theta


def build():
    return MelodyFlow()


def example_inputs():
    return torch.randn(4, 24, 32), torch.rand(4), torch.randint(0, 60, (4, 6))
