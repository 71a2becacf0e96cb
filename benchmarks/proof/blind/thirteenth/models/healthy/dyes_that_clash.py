r"""Tells whether two dyes clash when they are mixed, by a bilinear form of their vectors.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Bilinear.html
Healthy: there is no activation between the two last maps, since the bilinear form is the
    non-linear step itself; it is called for both orders of a pair, and the mean is taken.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

TRAITS = 9


class DyePairs(nn.Module):
    def __init__(self, dim=16, forms=8):
        super().__init__()
        self.dye = nn.Sequential(nn.Linear(TRAITS, 32), nn.SiLU(), nn.Linear(32, dim))
        self.form = nn.Bilinear(dim, dim, forms)
        self.out = nn.Linear(forms, 1)

    def forward(self, first, second, clash):
        a, b = self.dye(first), self.dye(second)
        both = (self.form(a, b) + self.form(b, a)) / 2
        return F.binary_cross_entropy_with_logits(self.out(both).squeeze(-1), clash)


def make_pairs(n, seed):
    g = torch.Generator().manual_seed(seed)
    first = torch.randn(n, TRAITS, generator=g)
    second = torch.randn(n, TRAITS, generator=g)
    strength = first[:, 0] * second[:, 0] + first[:, 1] * second[:, 1]
    return first, second, (strength > 0).float()


def build():
    torch.manual_seed(0)
    return DyePairs()


def example_inputs():
    return make_pairs(160, seed=13)
