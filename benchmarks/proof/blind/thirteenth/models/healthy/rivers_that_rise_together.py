r"""Learns vectors of gauges so that their products give the likeness of the gauges' water levels.

Source: https://docs.pytorch.org/docs/stable/generated/torch.masked_select.html
Healthy: the diagonal is left out of the loss by masked_select, whose result is viewed again as a
    table; every row loses exactly one value, so rows stay whole.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

GAUGES, TRAITS = 24, 6


class GaugeVectors(nn.Module):
    def __init__(self, hidden=32, dim=8):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(TRAITS, hidden), nn.SiLU(),
            nn.Linear(hidden, dim),
        )

    @staticmethod
    def others(table):
        gauges = len(table)
        keep = ~torch.eye(gauges, dtype=torch.bool)
        return table.masked_select(keep).view(gauges, gauges - 1)

    def forward(self, traits, likeness):
        vectors = F.normalize(self.net(traits), dim=-1)
        predicted = self.others(vectors @ vectors.T)
        wanted = self.others(likeness)
        weight = wanted.abs().softmax(dim=-1)
        return (weight * (predicted - wanted) ** 2).sum(-1).mean()


def make_rivers(seed):
    g = torch.Generator().manual_seed(seed)
    traits = torch.randn(GAUGES, TRAITS, generator=g)
    basin = torch.stack([traits[:, 0], traits[:, 1] * traits[:, 2].sign(), traits[:, 3]], dim=-1)
    basin = F.normalize(basin, dim=-1)
    return traits, basin @ basin.T


def build():
    torch.manual_seed(0)
    return GaugeVectors()


def example_inputs():
    return make_rivers(seed=7)
