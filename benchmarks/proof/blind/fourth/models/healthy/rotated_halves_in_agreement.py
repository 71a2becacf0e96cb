r"""Cross view encoder with rotary positions that pair the halves of a head.

Source: https://github.com/naver/croco/issues/3
Odd: Halves are rotated, not neighbours; the angles are laid out for halves too, so both agree.
"""

import torch
import torch.nn.functional as F
from torch import nn


class RotaryAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        size = dim // heads
        angles = torch.arange(64)[:, None] * 100.0 ** -(torch.arange(0, size, 2) / size)
        self.register_buffer("angles", torch.cat([angles, angles], dim=-1), persistent=False)

    def rotate(self, x):
        angles = self.angles[: x.size(-2)]
        x1, x2 = x.chunk(2, dim=-1)
        return x * angles.cos() + torch.cat([-x2, x1], dim=-1) * angles.sin()

    def forward(self, x):
        b, n, dim = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(self.rotate(q), self.rotate(k), v)
        return self.proj(y.transpose(1, 2).reshape(b, n, dim))


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.patch = nn.Conv1d(2, dim, 4, stride=4)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = RotaryAttention(dim, 4)
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.head = nn.Linear(dim, 8)

    def forward(self, signal):
        x = self.patch(signal).transpose(1, 2)
        x = x + self.attn(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(x)


def build():
    return Encoder()


def example_inputs():
    return torch.randn(4, 2, 64)
