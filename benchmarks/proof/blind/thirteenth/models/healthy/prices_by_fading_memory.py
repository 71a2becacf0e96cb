r"""Next price of a fair's goods from the prices so far, by attention that fades and has no softmax.

Source: https://docs.pytorch.org/docs/stable/generated/torch.tril.html
Healthy: the scores are multiplied by a lower triangle of falling weights and not put through a
    softmax, so they may be negative and sum to anything; a group norm sets the size afterwards.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

DAYS = 20


class FadingAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v = (nn.Linear(dim, dim, bias=False) for _ in range(3))
        self.gate = nn.Linear(dim, dim)
        self.norm = nn.GroupNorm(heads, dim)
        self.out = nn.Linear(dim, dim)
        keep = 1 - 2.0 ** (-2 - torch.arange(heads).float())
        gap = torch.arange(DAYS).view(-1, 1) - torch.arange(DAYS)
        self.register_buffer("fade", (keep.view(-1, 1, 1) ** gap.clamp(min=0)).tril())

    def forward(self, x):
        batch, days, dim = x.shape
        q, k, v = (
            part(x).view(batch, days, self.heads, -1).transpose(1, 2)
            for part in (self.q, self.k, self.v)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        mixed = (scores * self.fade[:, :days, :days]) @ v
        mixed = mixed.transpose(1, 2).reshape(batch * days, dim)
        mixed = self.norm(mixed).view(batch, days, dim)
        return self.out(F.silu(self.gate(x)) * mixed)


class PriceModel(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.embed = nn.Linear(1, dim)
        self.attention = FadingAttention(dim, heads)
        self.mlp = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim),
        )
        self.head = nn.Linear(dim, 1)

    def forward(self, prices):
        h = self.embed(prices[:, :-1].unsqueeze(-1))
        h = h + self.attention(h)
        h = h + self.mlp(h)
        return F.mse_loss(self.head(h).squeeze(-1), prices[:, 1:])


def make_prices(n, seed):
    g = torch.Generator().manual_seed(seed)
    phase = 6.28 * torch.rand(n, 1, generator=g)
    speed = 0.4 + 0.6 * torch.rand(n, 1, generator=g)
    prices = torch.sin(speed * torch.arange(DAYS + 1) + phase)
    return prices + 0.05 * torch.randn(n, DAYS + 1, generator=g)


def build():
    torch.manual_seed(0)
    return PriceModel()


def example_inputs():
    return (make_prices(64, seed=25),)
