"""A small transformer twice: with split and with fused layers, and other names."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(dim, dim) for _ in range(3))
        self.o_proj = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
        return self.o_proj(scores @ v)


class Mlp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim)

    def forward(self, x):
        return self.down(self.act(self.up(x)))


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn, self.mlp = Attention(dim), Mlp(dim)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Original(nn.Module):
    def __init__(self, dim=8, depth=2):
        super().__init__()
        self.wte = nn.Embedding(11, dim)
        self.h = nn.ModuleList(Block(dim) for _ in range(depth))
        self.ln_f, self.head = nn.LayerNorm(dim), nn.Linear(dim, 5, bias=False)

    def forward(self, input_ids):
        x = self.wte(input_ids)
        for block in self.h:
            x = block(x)
        return {"logits": self.head(self.ln_f(x)), "hidden": x}


class Turned(nn.Module):
    """A linear layer whose weight has the input first."""

    def __init__(self, before, after):
        super().__init__()
        self.weight, self.bias = (
            nn.Parameter(torch.randn(before, after)),
            nn.Parameter(torch.zeros(after)),
        )

    def forward(self, x):
        return x @ self.weight + self.bias


class Layer(nn.Module):
    """The block in one class; the activation and the attention are functions."""

    def __init__(self, dim, act=F.gelu, scale=None, eps=1e-5):
        super().__init__()
        self.first, self.second = nn.LayerNorm(dim, eps=eps), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.expand, self.contract = Turned(dim, 4 * dim), nn.Linear(4 * dim, dim)
        self.act, self.scale = act, scale or dim**-0.5

    def forward(self, x):
        q, k, v = self.qkv(self.first(x)).chunk(3, -1)
        x = x + self.out((q @ k.transpose(-2, -1) * self.scale).softmax(-1) @ v)
        return x + self.contract(self.act(self.expand(self.second(x))))


class Port(nn.Module):
    def __init__(self, dim=8, depth=2, **settings):
        super().__init__()
        self.tokens = nn.Embedding(11, dim)
        self.layers = nn.Sequential(*(Layer(dim, **settings) for _ in range(depth)))
        self.norm, self.classify = nn.LayerNorm(dim), nn.Linear(dim, 5, bias=False)

    def forward(self, ids):
        return self.classify(self.norm(self.layers(self.tokens(ids))))


def batch():
    return torch.arange(6).view(2, 3)
