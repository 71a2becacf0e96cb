r"""Chance of a rare fault on an assembly line from the readings of its stations.

Source: https://docs.pytorch.org/docs/stable/nn.init.html#torch.nn.init.constant_
Healthy: the weights of the last layer start at zero and its bias at the log-odds of the fault's
    rate, so all first outputs are equal; the first step moves the last layer, the next ones all.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

READINGS, RATE = 10, 0.08


class FaultChance(nn.Module):
    def __init__(self, rate=RATE, hidden=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(READINGS, hidden), nn.GELU(),
            nn.Linear(hidden, hidden), nn.GELU(),
        )
        self.head = nn.Linear(hidden, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.constant_(self.head.bias, math.log(rate / (1 - rate)))

    def forward(self, readings, fault):
        logit = self.head(self.body(readings)).squeeze(-1)
        return F.binary_cross_entropy_with_logits(logit, fault)


def make_parts(n, seed):
    g = torch.Generator().manual_seed(seed)
    readings = torch.randn(n, READINGS, generator=g)
    stress = readings[:, 0] * readings[:, 1] + readings[:, 2] + 0.5 * readings[:, 3] ** 2
    edge = stress.sort().values[int((1 - RATE) * n)]
    return readings, (stress > edge).float()


def build():
    torch.manual_seed(0)
    return FaultChance()


def example_inputs():
    return make_parts(512, seed=18)
