r"""Next letter of a text by attention in which the keys are made from the queries.

Source: https://github.com/lucidrains/reformer-pytorch
Odd: There is no weight matrix for keys; they are the queries at length one, and a letter gives
    itself a very low but finite score, so that it looks at itself only when it is alone.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SharedQK(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.to_qk, self.to_v = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        qk = self.to_qk(x).view(b, n, self.heads, -1).transpose(1, 2)
        v = self.to_v(x).view(b, n, self.heads, -1).transpose(1, 2)
        dots = qk @ F.normalize(qk, dim=-1).transpose(-2, -1) * qk.shape[-1] ** -0.5
        dots = dots.masked_fill(torch.eye(n, dtype=torch.bool), -5e4)
        future = torch.ones(n, n, dtype=torch.bool).triu(1)
        dots = dots.masked_fill(future, torch.finfo(dots.dtype).min)
        out = (dots.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)
        return self.to_out(out)


class Chunked(nn.Module):
    def __init__(self, dim, chunks=4):
        super().__init__()
        self.chunks = chunks
        self.fn = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        return torch.cat([self.fn(c) for c in x.chunk(self.chunks, dim=1)], dim=1)


class LetterModel(nn.Module):
    def __init__(self, letters=30, dim=32, depth=3, length=32):
        super().__init__()
        self.token, self.place = nn.Embedding(letters, dim), nn.Embedding(length, dim)
        self.attn = nn.ModuleList(SharedQK(dim, 4) for _ in range(depth))
        self.ff = nn.ModuleList(Chunked(dim) for _ in range(depth))
        self.norm_a = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth))
        self.norm_f = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth))
        self.norm, self.out = nn.LayerNorm(dim), nn.Linear(dim, letters)

    def forward(self, text):
        x = self.token(text) + self.place.weight[: text.shape[1]]
        x1 = x2 = x
        for attn, ff, na, nf in zip(self.attn, self.ff, self.norm_a, self.norm_f):
            x1 = x1 + attn(na(x2))
            x2 = x2 + ff(nf(x1))
        return self.out(self.norm((x1 + x2) / 2))


def build():
    return LetterModel()


def example_inputs():
    return (torch.randint(0, 30, (4, 24)),)
