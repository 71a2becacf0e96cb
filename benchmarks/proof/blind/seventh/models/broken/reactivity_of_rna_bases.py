r"""Reactivity of the bases of RNA strands of different lengths.

Source: https://github.com/Shujun-He/RibonanzaNet/issues/5
Fault: The scores of the padding are filled with -1e-9, which is zero and not a large negative
    number, so the padding takes part in the attention.
Cause: (1e-9|1e-0?9|tiny|small|near(ly)? zero|close to zero|almost zero).{0,120}(mask|fill
    |attention|padd|instead|1e9|-inf|softmax)
    |(mask\w*|fill\w*|padd\w*).{0,140}(1e-0?9|1e9|-?inf\b|no effect|not masked|still|attend|leak
    |ignored|receive|large negative|too small|not enough)
Place: masked_fill|\battn\b|\bmask\b|score
"""

import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.v, self.fc = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)

    def forward(self, x, mask):
        b, n, d = x.shape
        q, k, v = (
            f(x).view(b, n, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        attn = q @ k.transpose(2, 3) / (d // self.heads) ** 0.5
        attn = attn.masked_fill(mask[:, None, None] == 0, -1e-9)  # here
        y = (attn.softmax(-1) @ v).transpose(1, 2).reshape(b, n, d)
        return self.fc(y)


class Layer(nn.Module):
    def __init__(self, dim, heads, kernel):
        super().__init__()
        self.conv = nn.Conv1d(dim, dim, kernel, padding=kernel // 2)
        self.attention = MultiHeadAttention(dim, heads)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.norm3 = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, mask):
        x = x * mask[..., None]
        x = self.norm1(x + self.conv(x.transpose(1, 2)).transpose(1, 2))
        x = self.norm2(x + self.attention(x, mask))
        return self.norm3(x + self.ff(x))


class Reactivity(nn.Module):
    def __init__(self, dim=32, depth=3):
        super().__init__()
        self.encoder = nn.Embedding(5, dim, padding_idx=4)
        self.layers = nn.ModuleList(Layer(dim, 4, 5) for _ in range(depth))
        self.decoder = nn.Linear(dim, 2)

    def forward(self, bases, mask):
        x = self.encoder(bases)
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(x) * mask[..., None]


def build():
    return Reactivity()


def example_inputs():
    length = torch.tensor([30, 18, 24, 9])
    mask = (torch.arange(30) < length[:, None]).float()
    bases = torch.randint(0, 4, (4, 30)).masked_fill(mask == 0, 4)
    return bases, mask
