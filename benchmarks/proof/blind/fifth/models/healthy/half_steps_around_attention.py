r"""Block of a speech encoder with attention and convolution.

Source: https://github.com/lucidrains/conformer
Odd: Both feed-forward layers count only half, and batch norm sits in the middle of a transformer.
"""

import torch
from torch import nn


class FeedForward(nn.Sequential):
    def __init__(self, dim):
        super().__init__(
            nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim)
        )


class ConvModule(nn.Module):
    def __init__(self, dim, kernel=7):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.pointwise1 = nn.Conv1d(dim, 2 * dim, 1)
        self.depthwise = nn.Conv1d(dim, dim, kernel, padding=kernel // 2, groups=dim)
        self.batch_norm = nn.BatchNorm1d(dim)
        self.pointwise2 = nn.Conv1d(dim, dim, 1)

    def forward(self, x):
        x = nn.functional.glu(self.pointwise1(self.norm(x).transpose(1, 2)), dim=1)
        x = nn.functional.silu(self.batch_norm(self.depthwise(x)))
        return self.pointwise2(x).transpose(1, 2)


class ConformerBlock(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.ff1, self.ff2 = FeedForward(dim), FeedForward(dim)
        self.attn_norm = nn.LayerNorm(dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.conv = ConvModule(dim)
        self.post_norm = nn.LayerNorm(dim)

    def forward(self, x):
        x = x + 0.5 * self.ff1(x)
        h = self.attn_norm(x)
        x = x + self.attn(h, h, h, need_weights=False)[0]
        x = x + self.conv(x)
        x = x + 0.5 * self.ff2(x)
        return self.post_norm(x)


class Encoder(nn.Module):
    def __init__(self, mels=20, dim=32, tokens=30):
        super().__init__()
        self.subsample = nn.Conv1d(mels, dim, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(ConformerBlock(dim), ConformerBlock(dim))
        self.out = nn.Linear(dim, tokens)

    def forward(self, mel):
        return self.out(self.blocks(self.subsample(mel).transpose(1, 2)))


def build():
    return Encoder()


def example_inputs():
    return torch.randn(4, 20, 40)
