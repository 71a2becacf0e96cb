"""BYOL with a target network that is a moving average of the online one.

Source: https://github.com/Lightning-Universe/lightning-bolts/issues/801
    https://github.com/lhoyer/DAFormer/issues/59
Odd: the whole target network has no gradient, it is updated by averaging after each step.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class BYOL(nn.Module):
    def __init__(self, dim=12, out=16):
        super().__init__()
        self.online = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, out))
        self.target = copy.deepcopy(self.online).requires_grad_(False)
        self.predictor = nn.Sequential(nn.Linear(out, 24), nn.ReLU(), nn.Linear(24, out))

    @torch.no_grad()
    def update_target(self, tau=0.99):
        for p, q in zip(self.online.parameters(), self.target.parameters(), strict=True):
            q.lerp_(p, 1 - tau)

    def forward(self, img_1, img_2):
        h1 = self.predictor(self.online(img_1))
        with torch.no_grad():
            z2 = self.target(img_2)
        return {"loss": 2 - 2 * F.cosine_similarity(h1, z2).mean(), "h": h1}


def example_inputs():
    return (
        torch.randn(16, 12),
        torch.randn(16, 12),
    )
