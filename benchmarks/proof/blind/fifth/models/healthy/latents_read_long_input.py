r"""Small set of learned latents that reads a long input by cross attention.

Source: https://github.com/lucidrains/perceiver-pytorch
Odd: The queries do not come from the input, and the second read has the weights of the first.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, dim, context, heads=2):
        super().__init__()
        self.heads = heads
        self.norm, self.norm_context = nn.LayerNorm(dim), nn.LayerNorm(context)
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(context, 2 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, context):
        def split(t):
            return t.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        k, v = self.to_kv(self.norm_context(context)).chunk(2, dim=-1)
        out = F.scaled_dot_product_attention(split(self.to_q(self.norm(x))), split(k), split(v))
        return x + self.to_out(out.transpose(1, 2).flatten(2))


class GEGLU(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 8 * dim))
        self.out = nn.Linear(4 * dim, dim)

    def forward(self, x):
        h, gates = self.net(x).chunk(2, dim=-1)
        return x + self.out(h * F.gelu(gates))


class Perceiver(nn.Module):
    def __init__(self, channels=8, latents=12, dim=32, classes=5):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(latents, dim))
        self.position = nn.Parameter(torch.randn(1, 200, channels) * 0.1)
        self.read = Attention(dim, channels)
        self.think = nn.ModuleList(Attention(dim, dim) for _ in range(2))
        self.forwards = nn.ModuleList(GEGLU(dim) for _ in range(2))
        self.to_logits = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, classes))

    def forward(self, data):
        x = self.latents.expand(data.size(0), -1, -1)
        data = data + self.position
        for think, forward in zip(self.think, self.forwards, strict=True):
            x = self.read(x, data)
            x = forward(think(x, x))
        return self.to_logits(x.mean(dim=1))


def build():
    return Perceiver()


def example_inputs():
    return torch.randn(4, 200, 8)
