"""Causal attention with linear biases (ALiBi).

Source: https://github.com/ofirpress/attention_with_linear_biases
Odd: the model has no position embedding; each head adds a fixed slope times the distance to its
    scores, from a buffer that is never trained.
"""

import torch
from torch import nn


class ALiBiAttention(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.heads = heads
        self.in_proj = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)
        slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
        self.register_buffer("slopes", slopes.view(1, heads, 1, 1))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.in_proj(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        index = torch.arange(n)
        distance = (index[None] - index[:, None]).float()
        scores = q @ k.transpose(-2, -1) / (d // self.heads) ** 0.5 + self.slopes * distance
        scores = scores.masked_fill(distance > 0, float("-inf"))
        out = scores.softmax(-1) @ v
        return self.out_proj(out.transpose(1, 2).reshape(b, n, d))


class ALiBiLM(nn.Module):
    def __init__(self, vocab=30, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = ALiBiAttention(dim)
        self.ffn = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, dim))
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        x = x + self.attn(self.norm1(x))
        return self.head(x + self.ffn(self.norm2(x)))


def build():
    return ALiBiLM()


def example_inputs():
    return (torch.randint(0, 30, (4, 18)),)
