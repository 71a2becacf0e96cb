r"""A transformer block with wide heads, written from the formula.

Source: https://github.com/PAIR-code/tiny-transformers/issues/71
    https://github.com/flexflow/flexflow-train/issues/467
Fault: the scores are not divided by sqrt(d), so with wide heads their spread is 30 and softmax
    is nearly one-hot from the start: each token looks at a single other one.
Cause: \bscal(e|ed|ing)\b|sqrt|saturat|one.?hot|divided|large (score|logit)s?
Place: \bscores\b|w_q|w_k|\battn\b
"""

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim=256, heads=1):
        super().__init__()
        self.heads = heads
        self.w_q = nn.Linear(dim, dim, bias=False)
        self.w_k = nn.Linear(dim, dim, bias=False)
        self.w_v = nn.Linear(dim, dim, bias=False)
        self.w_o = nn.Linear(dim, dim, bias=False)
        for layer in (self.w_q, self.w_k):
            nn.init.xavier_normal_(layer.weight, gain=1.4)

    def forward(self, x):
        b, n, d = x.shape
        shape = (b, n, self.heads, d // self.heads)
        q = self.w_q(x).view(shape).transpose(1, 2)
        k = self.w_k(x).view(shape).transpose(1, 2)
        v = self.w_v(x).view(shape).transpose(1, 2)
        scores = q @ k.transpose(-2, -1)  # here
        out = scores.softmax(-1) @ v
        return self.w_o(out.transpose(1, 2).reshape(b, n, d))


class TinyTransformer(nn.Module):
    def __init__(self, vocab=50, dim=256):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim)
        self.attn = SelfAttention(dim)
        self.unembed = nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.embed(ids)
        return self.unembed(x + self.attn(self.norm(x)))


def build():
    return TinyTransformer()


def example_inputs():
    return (torch.randint(0, 50, (4, 16)),)
