r"""Decoder with gated linear units, one key for all heads, and tied embeddings.

Source: https://github.com/google/gemma_pytorch
Odd: The weights of the norms are zero at first, as one is added to them; embeddings are multiplied
    by the root of their size although the head has the same matrix.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)
        return x * (1 + self.weight)


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.head_dim = heads, dim // heads
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(dim), RMSNorm(dim)
        self.qkv_proj = nn.Linear(dim, dim + 2 * self.head_dim, bias=False)
        self.o_proj = nn.Linear(dim, dim, bias=False)
        self.gate_proj = nn.Linear(dim, 3 * dim, bias=False)
        self.up_proj = nn.Linear(dim, 3 * dim, bias=False)
        self.down_proj = nn.Linear(3 * dim, dim, bias=False)

    def forward(self, x):
        batch, steps, dim = x.shape
        q, k, v = self.qkv_proj(self.input_layernorm(x)).split(
            [dim, self.head_dim, self.head_dim], dim=-1
        )
        q = q.view(batch, steps, self.heads, self.head_dim).transpose(1, 2)
        k, v = (t[:, None].expand(-1, self.heads, -1, -1) for t in (k, v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o_proj(a.transpose(1, 2).reshape(batch, steps, dim))
        h = self.post_attention_layernorm(x)
        return x + self.down_proj(F.gelu(self.gate_proj(h), approximate="tanh") * self.up_proj(h))


class GemmaLike(nn.Module):
    def __init__(self, vocab=70, dim=32, heads=4, layers=2):
        super().__init__()
        self.embedder = nn.Embedding(vocab, dim)
        nn.init.normal_(self.embedder.weight, std=dim**-0.5)
        self.register_buffer("positions", 0.1 * torch.randn(32, dim))
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
        self.norm = RMSNorm(dim)

    def forward(self, tokens):
        x = self.embedder(tokens) * math.sqrt(self.embedder.embedding_dim)
        x = x + self.positions[: tokens.size(1)]
        for layer in self.layers:
            x = layer(x)
        return F.linear(self.norm(x), self.embedder.weight)


def build():
    return GemmaLike()


def example_inputs():
    return torch.randint(0, 70, (4, 18))
