r"""A DeepSets regressor of a population statistic, which returns its squared error.

Source: https://github.com/manzilzaheer/DeepSets/pull/1
Fault: the target (batch,) is subtracted from the prediction (batch, 1), which gives a (batch,
    batch) table: every prediction is compared with all the targets and learns their mean.
Cause: broadcast|\bshapes?\b|squeeze|batch ?(x|,|by|×) ?batch|all (the
    )?(pairs|targets)|pairwise|32 ?(x|,|×) ?32
Place: \bprediction\b|\btarget\b
"""

import torch
from torch import nn


class DeepSet(nn.Module):
    def __init__(self, dim=4, hidden=32):
        super().__init__()
        self.phi = nn.Sequential(
            nn.Linear(dim, hidden), nn.ELU(), nn.Linear(hidden, hidden), nn.ELU()
        )
        self.rho = nn.Sequential(nn.Linear(hidden, hidden), nn.ELU(), nn.Linear(hidden, 1))

    def forward(self, sets, target):
        pooled = self.phi(sets).mean(1)
        prediction = self.rho(pooled)
        loss = ((prediction - target) ** 2).mean()  # here
        return {"loss": loss, "prediction": prediction}


def example_inputs():
    sets = torch.randn(32, 20, 4) * torch.rand(32, 1, 1) * 3
    return sets, sets.std((1, 2))
