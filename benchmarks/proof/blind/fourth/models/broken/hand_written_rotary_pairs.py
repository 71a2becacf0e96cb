r"""Small causal language model with rotary positions.

Source: https://github.com/raiyanyahya/how-to-train-your-gpt/issues/6
Fault: The angles are for neighbouring dimensions as pairs, but the rotation pairs the halves, so
    the products of queries and keys are no function of the distance.
Cause: rotary|\brope\b|rotat\w+|angles?\b|frequenc\w+|relative position
Place: rotate_half|inv_freq
"""

import torch
import torch.nn.functional as F
from torch import nn


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat([-x2, x1], dim=-1)  # here


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        size = dim // heads
        inv_freq = 10000 ** -(torch.arange(0, size, 2) / size)
        self.register_buffer("inv_freq", inv_freq)

    def forward(self, x):
        b, n, dim = x.shape
        q, k, v = (
            t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, dim=-1)
        )
        freqs = torch.arange(n)[:, None] * self.inv_freq
        emb = freqs.repeat_interleave(2, dim=-1)  # here
        q, k = (t * emb.cos() + rotate_half(t) * emb.sin() for t in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, n, dim))


class GPT(nn.Module):
    def __init__(self, vocab=50, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.norms = nn.ModuleList([nn.LayerNorm(dim) for _ in range(4)])
        self.attention = nn.ModuleList([Attention(dim, 4) for _ in range(2)])
        self.mlp = nn.ModuleList(
            [nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim)) for _ in range(2)]
        )
        self.head = nn.Linear(dim, vocab, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for i in range(2):
            x = x + self.attention[i](self.norms[2 * i](x))
            x = x + self.mlp[i](self.norms[2 * i + 1](x))
        return self.head(x)


def build():
    return GPT()


def example_inputs():
    return torch.randint(0, 50, (3, 16))
