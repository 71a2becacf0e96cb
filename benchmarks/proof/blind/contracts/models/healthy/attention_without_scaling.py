r"""The model `CrossAttention`.

Source: https://arxiv.org/abs/1706.03762
Healthy: the right twin of the broken case of this name.
"""

import math

import torch
import torch.nn as nn


class CrossAttention(nn.Module):
    def __init__(self, dim=256, out=8):
        super().__init__()
        self.nq = nn.LayerNorm(dim)
        self.nk = nn.LayerNorm(dim)
        self.v = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, out)

    def forward(self, query, memory):
        q = self.nq(query)
        k = self.nk(memory)
        scores = torch.einsum("bqd,bkd->bqk", q, k)
        scores = scores / math.sqrt(q.size(-1))
        w = scores.softmax(dim=-1)
        return self.out(torch.einsum("bqk,bkd->bqd", w, self.v(memory)))


torch.manual_seed(0)
model = CrossAttention()
example_inputs = (torch.randn(4, 6, 256), torch.randn(4, 12, 256),)
