"""A face embedder with an additive angular margin.

Source: https://github.com/deepinsight/insightface/blob/master/recognition/arcface_torch/losses.py
Odd: the classifier has no bias, its rows are normalised and the scores are multiplied by 64; the
    loss starts at a huge value because of the margin.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class ArcMargin(nn.Module):
    def __init__(self, dim, classes, scale=64.0, margin=0.5):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(classes, dim))
        nn.init.normal_(self.weight, std=0.01)
        self.scale, self.margin = scale, margin

    def forward(self, embeddings, labels):
        cosine = F.normalize(embeddings) @ F.normalize(self.weight).t()
        cosine = cosine.clamp(-1 + 1e-6, 1 - 1e-6)
        rows = torch.arange(len(labels))
        target = torch.cos(torch.acos(cosine[rows, labels]) + self.margin)
        limit = cosine[rows, labels] - math.sin(math.pi - self.margin) * self.margin
        target = torch.where(cosine[rows, labels] > math.cos(math.pi - self.margin), target, limit)
        logits = cosine.clone()
        logits[rows, labels] = target
        return F.cross_entropy(self.scale * logits, labels)


class FaceNet(nn.Module):
    def __init__(self, dim=32, classes=20):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1),
            nn.BatchNorm2d(16),
            nn.PReLU(16),
            nn.Conv2d(16, 32, 3, 2, 1),
            nn.BatchNorm2d(32),
            nn.PReLU(32),
            nn.Flatten(),
            nn.Linear(32 * 36, dim),
            nn.BatchNorm1d(dim),
        )
        self.margin = ArcMargin(dim, classes)

    def forward(self, images, labels):
        embeddings = self.backbone(images)
        return {"loss": self.margin(embeddings, labels), "embeddings": embeddings}


def build():
    return FaceNet()


def example_inputs():
    return torch.randn(12, 3, 24, 24), torch.randint(0, 20, (12,))
