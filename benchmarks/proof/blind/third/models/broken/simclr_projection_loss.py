r"""Contrastive encoder that returns its loss for two views.

Source: https://github.com/Lightning-Universe/lightning-bolts/issues/695
Fault: The similarity of each sample with itself stays among the negatives; no mask removes it.
Cause: (itself|self[- ]similar|diagonal|self[- ]pair)|(positive|same) .*negative
    |mask.*(missing|diagonal)
Place: neg|sim|loss|mask|forward|nt_xent
"""

import torch
import torch.nn.functional as F
from torch import nn


class ContrastiveNet(nn.Module):
    def __init__(self, size=24, dim=12, temperature=0.5):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 32), nn.ReLU())
        self.projection = nn.Linear(32, dim)
        self.temperature = temperature

    def nt_xent_loss(self, out_1, out_2):
        out = torch.cat([out_1, out_2], dim=0)
        sim = torch.exp(out @ out.t() / self.temperature)
        neg = sim.sum(dim=-1)  # here
        pos = torch.exp((out_1 * out_2).sum(dim=-1) / self.temperature)
        return -torch.log(torch.cat([pos, pos]) / neg).mean()

    def forward(self, view_1, view_2):
        z_1, z_2 = (self.projection(self.encoder(v)) for v in (view_1, view_2))
        return self.nt_xent_loss(F.normalize(z_1, dim=1), F.normalize(z_2, dim=1))


def build():
    return ContrastiveNet()


def example_inputs():
    x = torch.randn(8, 24)
    return x + 0.1 * torch.randn(8, 24), x + 0.1 * torch.randn(8, 24)
