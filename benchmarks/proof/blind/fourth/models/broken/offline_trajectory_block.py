r"""Transformer over states, actions and rewards of trajectories.

Source: https://github.com/Howuhh/faster-trajectory-transformer/issues/3
Fault: The shortcut adds the normalised input in place of the input itself.
Cause: (residual|shortcut|skip|identity)\w*.*norm|norm\w*.*(residual|shortcut|skip|identity)
    |(no|lost|cut|broken|missing) (residual|shortcut|skip|identity)
Place: norm_1|norm_2
"""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads, length):
        super().__init__()
        self.norm_1 = nn.LayerNorm(dim)
        self.norm_2 = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        mask = torch.ones(length, length, dtype=torch.bool).triu(1)
        self.register_buffer("mask", mask)

    def forward(self, x):
        x = self.norm_1(x)  # here
        n = x.size(1)
        x = x + self.attention(x, x, x, attn_mask=self.mask[:n, :n], need_weights=False)[0]
        x = self.norm_2(x)  # here
        return x + self.mlp(x)


class TrajectoryTransformer(nn.Module):
    def __init__(self, vocab=40, dim=32, length=24, layers=4):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.positions = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        self.blocks = nn.Sequential(*[Block(dim, 4, length) for _ in range(layers)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions[:, : tokens.size(1)]
        return self.head(self.norm(self.blocks(x)))


def build():
    return TrajectoryTransformer()


def example_inputs():
    return torch.randint(0, 40, (4, 20))
