r"""Attention whose scores are not divided by the root of their width.

Source: https://github.com/huggingface/transformers/blob/main/src/transformers/models/t5/modeling_t5.py
Odd: No scaling of scores; the start of the query weights is smaller in its place. Normalisation has
    no mean and no bias, and a table of relative positions is added to the scores.
"""

import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


class T5Attention(nn.Module):
    def __init__(self, dim=32, heads=4, longest=24):
        super().__init__()
        self.heads, self.longest = heads, longest
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        nn.init.normal_(self.q.weight, std=(dim * dim // heads) ** -0.5)
        for part in (self.k, self.v, self.o):
            nn.init.normal_(part.weight, std=dim**-0.5)
        self.relative_attention_bias = nn.Embedding(2 * longest, heads)

    def forward(self, x):
        b, n, dim = x.shape
        q, k, v = (
            f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        distance = torch.arange(n)[:, None] - torch.arange(n) + self.longest
        bias = self.relative_attention_bias(distance).permute(2, 0, 1)
        weights = (q @ k.transpose(-1, -2) + bias).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).reshape(b, n, dim))


class T5Encoder(nn.Module):
    def __init__(self, vocab=60, dim=32):
        super().__init__()
        self.shared = nn.Embedding(vocab, dim)
        self.norms = nn.ModuleList(RMSNorm(dim) for _ in range(3))
        self.attention = T5Attention(dim)
        self.wi, self.wo = nn.Linear(dim, 64, bias=False), nn.Linear(64, dim, bias=False)
        self.head = nn.Linear(dim, 5)

    def forward(self, ids):
        x = self.shared(ids)
        x = x + self.attention(self.norms[0](x))
        x = x + self.wo(torch.relu(self.wi(self.norms[1](x))))
        return self.head(self.norms[2](x).mean(1))


def build():
    return T5Encoder()


def example_inputs():
    return torch.randint(0, 60, (4, 20))
