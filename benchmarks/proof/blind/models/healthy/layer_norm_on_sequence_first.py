"""A CLIP text tower that permutes to sequence first before its blocks.

Source: https://github.com/mlfoundations/open_clip/issues/603
    https://github.com/pytorch/pytorch/issues/59159
Odd: layer norm runs on (length, batch, width); it only normalises the last axis, so it is fine.
"""

import torch
from torch import nn


class TextTower(nn.Module):
    def __init__(self, vocab=20, width=16, heads=2, out=8):
        super().__init__()
        self.token_embedding = nn.Embedding(vocab, width)
        self.positional_embedding = nn.Parameter(0.01 * torch.randn(6, width))
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
        self.text_projection = nn.Parameter(torch.randn(width, out) * width**-0.5)

    def forward(self, text):
        x = self.token_embedding(text) + self.positional_embedding
        x = x.permute(1, 0, 2)
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        x = x + self.mlp(self.ln_2(x))
        return x.permute(1, 0, 2)[:, -1] @ self.text_projection


def example_inputs():
    return (torch.randint(0, 20, (4, 6)),)
