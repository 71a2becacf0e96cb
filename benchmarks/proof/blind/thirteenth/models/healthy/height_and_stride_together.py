r"""Height, stride and weight of a person from footprints, as one normal law with correlations.

Source: https://docs.pytorch.org/docs/stable/distributions.html#multivariatenormal
Healthy: the triangular factor is put together from two outputs, softplus on its diagonal and free
    values below it; the loss, a negative log-density, may well go below zero.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import MultivariateNormal

PRINT, SIZES = 6, 3


class PersonFromPrint(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(PRINT, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
        )
        self.mean = nn.Linear(hidden, SIZES)
        self.diagonal = nn.Linear(hidden, SIZES)
        self.below = nn.Linear(hidden, SIZES * (SIZES - 1) // 2)

    def law(self, footprint):
        h = self.body(footprint)
        factor = torch.diag_embed(F.softplus(self.diagonal(h)) + 5e-2)
        row, column = torch.tril_indices(SIZES, SIZES, offset=-1)
        factor[:, row, column] = self.below(h)
        return MultivariateNormal(self.mean(h), scale_tril=factor)

    def forward(self, footprint, sizes):
        return -self.law(footprint).log_prob(sizes).mean()


def make_people(n, seed):
    g = torch.Generator().manual_seed(seed)
    footprint = torch.randn(n, PRINT, generator=g)
    tall = torch.tanh(footprint[:, 0]) + 0.3 * torch.randn(n, generator=g)
    stride = 0.8 * tall + 0.3 * torch.randn(n, generator=g)
    weight = 0.5 * tall + 0.4 * footprint[:, 1] + 0.3 * torch.randn(n, generator=g)
    return footprint, torch.stack([tall, stride, weight], dim=-1)


def build():
    torch.manual_seed(0)
    return PersonFromPrint()


def example_inputs():
    return make_people(192, seed=12)
