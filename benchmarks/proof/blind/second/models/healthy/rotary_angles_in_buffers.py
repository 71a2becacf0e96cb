"""A causal attention with rotary positions.

Source: https://github.com/lucidrains/rotary-embedding-torch
    https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/244
Odd: there is no position parameter at all and the angles are a buffer that is not saved; the
    positions enter by rotating queries and keys.
"""

import torch
import torch.nn.functional as F
from torch import nn


def rotate_half(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


class RotaryAttention(nn.Module):
    def __init__(self, dim=48, heads=4, max_len=64):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim, bias=False)
        size = dim // heads
        freq = 10000 ** (-torch.arange(0, size, 2) / size)
        angle = torch.arange(max_len)[:, None] * freq
        angle = torch.cat([angle, angle], -1)
        self.register_buffer("cos_cached", angle.cos(), persistent=False)
        self.register_buffer("sin_cached", angle.sin(), persistent=False)

    def rotate(self, x):
        n = x.size(-2)
        return x * self.cos_cached[:n] + rotate_half(x) * self.sin_cached[:n]

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(b, n, d))


class RotaryLM(nn.Module):
    def __init__(self, vocab=40, dim=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim)
        self.attn = RotaryAttention(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.embed(ids)
        return self.head(x + self.attn(self.norm(x)))


def build():
    return RotaryLM()


def example_inputs():
    return (torch.randint(0, 40, (3, 20)),)
