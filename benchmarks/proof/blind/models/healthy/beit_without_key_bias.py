"""Attention with a bias for queries and values and a constant zero for keys.

Source: https://github.com/microsoft/unilm/issues/510
    https://github.com/microsoft/Swin-Transformer/issues/260
Odd: the key bias does not exist; it would be cancelled by softmax anyway.
"""

import torch
import torch.nn.functional as F
from torch import nn


class BeitAttention(nn.Module):
    def __init__(self, dim=16, heads=2):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.q_bias = nn.Parameter(torch.zeros(dim))
        self.v_bias = nn.Parameter(torch.zeros(dim))
        self.proj = nn.Linear(dim, dim)
        self.heads = heads

    def forward(self, x):
        b, n, c = x.shape
        zeros = torch.zeros_like(self.v_bias, requires_grad=False)
        bias = torch.cat((self.q_bias, zeros, self.v_bias))
        qkv = F.linear(x, self.qkv.weight, bias).view(b, n, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        attn = (q @ k.transpose(-2, -1) * (c // self.heads) ** -0.5).softmax(dim=-1)
        return x + self.proj((attn @ v).transpose(1, 2).reshape(b, n, c))


def example_inputs():
    return (torch.randn(4, 6, 16),)
