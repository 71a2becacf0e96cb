"""Attention bias of graphs that are padded to one size.

Source: https://github.com/microsoft/Graphormer/issues/141
Odd: rows of padding nodes are set to 0 in place of -inf, which avoids NaN and is masked later.
"""

import torch
from torch import nn


class GraphAttention(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def attn_bias(self, sizes, n):
        bias = torch.zeros(len(sizes), n, n)
        for i, size in enumerate(sizes.tolist()):
            bias[i, :, size:] = float("-inf")
            bias[i, size:, :size] = 0
        return bias

    def forward(self, x, sizes):
        n = x.size(1)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        score = q @ k.transpose(1, 2) / q.size(-1) ** 0.5 + self.attn_bias(sizes, n)
        keep = (torch.arange(n)[None] < sizes[:, None]).unsqueeze(-1)
        h = self.out(score.softmax(-1) @ v) * keep
        return h.sum(1) / sizes[:, None]


def example_inputs():
    return (
        torch.randn(2, 5, 16),
        torch.tensor([5, 3]),
    )
