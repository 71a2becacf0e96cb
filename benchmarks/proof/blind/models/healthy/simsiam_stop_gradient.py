"""SimSiam with the negative cosine similarity.

Source: https://github.com/PatrickHua/SimSiam/issues/22
Odd: half of the graph is detached on purpose, the other view gives each layer its gradient.
"""

import torch
import torch.nn.functional as F
from torch import nn


def neg_cosine(p, z):
    z = z.detach()
    return -(F.normalize(p, dim=1) * F.normalize(z, dim=1)).sum(dim=1).mean()


class SimSiam(nn.Module):
    def __init__(self, dim=12, hidden=24, out=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, out), nn.BatchNorm1d(out)
        )
        self.predictor = nn.Sequential(nn.Linear(out, 8), nn.ReLU(), nn.Linear(8, out))

    def forward(self, x1, x2):
        z1, z2 = self.encoder(x1), self.encoder(x2)
        p1, p2 = self.predictor(z1), self.predictor(z2)
        return {"loss": 1 + 0.5 * neg_cosine(p1, z2) + 0.5 * neg_cosine(p2, z1), "z": z1}


def build():
    return SimSiam()


def example_inputs():
    return (
        torch.randn(16, 12),
        torch.randn(16, 12),
    )
