r"""Pain on an ordered scale from movement data, with thresholds that are kept in order.

Source: https://docs.pytorch.org/docs/stable/generated/torch.cumsum.html
Healthy: a cumulative sum of positive steps makes the thresholds rise, so each step gets gradients
    from all later thresholds; one score serves all grades and has no bias of its own.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

MOVES, GRADES = 8, 6


class PainScale(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.score = nn.Sequential(
            nn.Linear(MOVES, hidden), nn.SiLU(),
            nn.Linear(hidden, 1, bias=False),
        )
        self.first = nn.Parameter(torch.tensor([-2.0]))
        self.steps = nn.Parameter(torch.zeros(GRADES - 2))

    def thresholds(self):
        return torch.cat([self.first, F.softplus(self.steps)]).cumsum(0)

    def forward(self, moves, grade):
        above = self.score(moves) - self.thresholds()
        reached = (grade.unsqueeze(-1) > torch.arange(GRADES - 1)).float()
        return F.binary_cross_entropy_with_logits(above, reached)


def make_patients(n, seed):
    g = torch.Generator().manual_seed(seed)
    moves = torch.randn(n, MOVES, generator=g)
    pain = moves[:, 0] - moves[:, 1].abs() + 0.5 * moves[:, 2] + 0.2 * torch.randn(n, generator=g)
    edges = torch.tensor([-2.0, -1.2, -0.5, 0.1, 0.8])
    return moves, torch.bucketize(pain, edges)


def build():
    torch.manual_seed(0)
    return PainScale()


def example_inputs():
    return make_patients(192, seed=20)
