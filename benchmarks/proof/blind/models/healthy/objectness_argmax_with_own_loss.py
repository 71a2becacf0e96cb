"""Proposals that are picked by argmax of an objectness score.

Source: https://github.com/lanlan96/ARM3D/issues/1
Odd: no gradient passes argmax; the objectness layer has a loss of its own.
"""

import torch
import torch.nn.functional as F
from torch import nn


class ProposalRelations(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(dim, 16), nn.ReLU())
        self.objectness = nn.Linear(16, 2)
        self.box = nn.Linear(16, 3)

    def forward(self, proposals, is_object, center):
        f = self.features(proposals)
        scores = self.objectness(f)
        idx_obj = torch.argmax(scores[..., 1] - scores[..., 0], dim=1)
        best = f[torch.arange(len(f)), idx_obj]
        loss = F.cross_entropy(scores.flatten(0, 1), is_object.flatten())
        return {"loss": loss + F.smooth_l1_loss(self.box(best), center), "scores": scores}


def example_inputs():
    return (
        torch.randn(4, 10, 8),
        torch.randint(0, 2, (4, 10)),
        torch.randn(4, 3),
    )
