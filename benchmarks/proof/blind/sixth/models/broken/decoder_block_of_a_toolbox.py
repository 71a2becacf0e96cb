r"""Language model put together from the parts of a toolbox for attention.

Source: https://github.com/facebookresearch/xformers/issues/103
Fault: Without a mask from outside the causal mask is skipped, so tokens see the following ones.
Cause: causal|future|(later|following|next) (token|position|word)s?|look.?ahead|leak
    |triangular|cheat
Place: att_mask|causal|\bmask\b
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class ScaledDotProduct(nn.Module):
    def __init__(self, dropout, seq_len):
        super().__init__()
        self.attn_drop = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(seq_len, seq_len).tril().bool())

    def forward(self, q, k, v, att_mask=None):
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        if att_mask is not None:  # here
            steps = q.size(-2)
            scores = scores.masked_fill(~(att_mask & self.mask[:steps, :steps]), -math.inf)
        return self.attn_drop(F.softmax(scores, dim=-1)) @ v


class Block(nn.Module):
    def __init__(self, dim, heads, seq_len):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.attention = ScaledDotProduct(0.1, seq_len)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, att_mask=None):
        batch, steps, dim = x.shape
        q, k, v = (
            part.view(batch, steps, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.ln1(x)).chunk(3, -1)
        )
        h = self.attention(q, k, v, att_mask).transpose(1, 2).reshape(batch, steps, dim)
        x = x + self.proj(h)
        return x + self.mlp(self.ln2(x))


class CausalLanguageModel(nn.Module):
    def __init__(self, vocab=64, dim=32, heads=4, seq_len=24):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.positions = nn.Parameter(0.02 * torch.randn(1, seq_len, dim))
        self.blocks = nn.ModuleList(Block(dim, heads, seq_len) for _ in range(2))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, idx):
        x = self.tokens(idx) + self.positions[:, : idx.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def build():
    return CausalLanguageModel()


def example_inputs():
    return torch.randint(0, 64, (4, 20))
