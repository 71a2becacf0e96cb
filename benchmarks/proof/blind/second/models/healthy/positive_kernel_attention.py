"""Linear attention with the kernel elu(x) + 1.

Source: https://github.com/idiap/fast-transformers/blob/master/fast_transformers/attention/linear_attention.py
Odd: the attention has no softmax and does not divide by sqrt(d); the features are positive and the
    sum of the weights is divided out.
"""

import torch
import torch.nn.functional as F
from torch import nn


class LinearAttention(nn.Module):
    def __init__(self, dim=32, heads=4, eps=1e-6):
        super().__init__()
        self.heads, self.eps = heads, eps
        self.query, self.key = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.value, self.out = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q = F.elu(self.query(x).view(b, n, self.heads, -1)) + 1
        k = F.elu(self.key(x).view(b, n, self.heads, -1)) + 1
        v = self.value(x).view(b, n, self.heads, -1)
        kv = torch.einsum("nshd,nshm->nhmd", k, v)
        z = 1 / (torch.einsum("nlhd,nhd->nlh", q, k.sum(1)) + self.eps)
        y = torch.einsum("nlhd,nhmd,nlh->nlhm", q, kv, z)
        return self.out(y.reshape(b, n, d))


class LinearTransformer(nn.Module):
    def __init__(self, features=8, dim=32, classes=3):
        super().__init__()
        self.embed = nn.Linear(features, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = LinearAttention(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.embed(x)
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(x.mean(1))


def build():
    return LinearTransformer()


def example_inputs():
    return (torch.randn(4, 60, 8),)
