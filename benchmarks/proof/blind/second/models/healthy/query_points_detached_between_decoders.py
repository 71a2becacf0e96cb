"""A sparse occupancy decoder whose layers refine points, coarse to fine.

Source: https://github.com/MCG-NJU/SparseOcc/issues/65
Odd: the points and the features are detached before the next layer, so each layer is trained by its
    own loss only; this is on purpose, it keeps the training stable.
"""

import torch
from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.pos = nn.Linear(3, dim)
        self.mixing = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 64), nn.ReLU())
        self.out = nn.Linear(64, dim)
        self.refine = nn.Linear(dim, 3)

    def forward(self, points, feats):
        feats = feats + self.out(self.mixing(feats + self.pos(points)))
        return points + self.refine(feats), feats


class SparseVoxelDecoder(nn.Module):
    def __init__(self, dim=32, layers=3, queries=20):
        super().__init__()
        self.init_points = nn.Embedding(queries, 3)
        self.query_feat = nn.Embedding(queries, dim)
        self.layers = nn.ModuleList(DecoderLayer(dim) for _ in range(layers))

    def forward(self, scene, target):
        points = self.init_points.weight + scene.mean(1, keepdim=True)
        feats = self.query_feat.weight.expand(len(scene), -1, -1)
        loss = 0.0
        for layer in self.layers:
            points, feats = layer(points, feats)
            loss = loss + (points - target).abs().mean()
            points, feats = points.detach(), feats.detach()
        return {"loss": loss, "points": points}


def build():
    return SparseVoxelDecoder()


def example_inputs():
    return torch.randn(3, 100, 3), torch.randn(3, 20, 3)
