"""SimCLR with the NT-Xent loss over a batch of two views.

Source: https://github.com/Lightning-Universe/lightning-bolts/pull/253
Fault: the similarity of a sample with itself is left in the logits as the strongest negative.
Cause: diagonal|itself|self.?similarity|mask|eye
Place: sim|logits|mask
"""

import torch
import torch.nn.functional as F
from torch import nn


class SimCLR(nn.Module):
    def __init__(self, in_dim=10, hidden=32, out=16, temperature=0.1):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(in_dim, hidden), nn.ReLU())
        self.projector = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, out))
        self.temperature = temperature

    def forward(self, x_i, x_j):
        z = torch.cat([self.projector(self.encoder(x)) for x in (x_i, x_j)])
        z = F.normalize(z, dim=1)
        n = x_i.size(0)
        sim = z @ z.T / self.temperature  # here
        positives = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
        return {"loss": F.cross_entropy(sim, positives), "z": z}


def example_inputs():
    return (
        torch.randn(8, 10),
        torch.randn(8, 10),
    )
