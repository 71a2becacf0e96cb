r"""Batch-hard triplet loss on an embedding network.

Source: https://github.com/pytorch/pytorch/issues/2421
    https://github.com/adambielski/siamese-triplet/issues/18
Fault: the distance of a sample to itself is the root of exactly zero, and its gradient is NaN.
Cause: sqrt|square root|\broot|diagonal|distance.*(zero|itself)|\beps
Place: dist|sqrt
"""

import torch
import torch.nn.functional as F
from torch import nn


class EmbeddingNet(nn.Module):
    def __init__(self, in_dim=10, emb=8, margin=0.3):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(in_dim, 32), nn.PReLU(), nn.Linear(32, emb))
        self.margin = margin

    def pairwise_dist(self, e):
        diff = e.unsqueeze(0) - e.unsqueeze(1)
        return diff.pow(2).sum(-1).sqrt()  # here

    def forward(self, x, labels):
        emb = self.backbone(x)
        dist = self.pairwise_dist(emb)
        same = labels.unsqueeze(0) == labels.unsqueeze(1)
        hardest_pos = (dist * same).max(1).values
        hardest_neg = (dist + 1e3 * same).min(1).values
        return {"loss": F.relu(hardest_pos - hardest_neg + self.margin).mean(), "emb": emb}


def example_inputs():
    return (
        torch.randn(12, 10),
        torch.arange(12) % 4,
    )
