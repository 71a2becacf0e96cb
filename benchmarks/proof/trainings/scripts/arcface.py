"""A backbone and a margin head with its own weights, as two modules with one SGD."""

import json
import math

import torch
import torch.nn.functional as F
from torch import nn


class ArcMarginProduct(nn.Module):
    def __init__(self, in_features, out_features, s=8.0, m=0.2):
        super().__init__()
        self.s, self.m = s, m
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, input, label):
        cosine = F.linear(F.normalize(input), F.normalize(self.weight))
        sine = torch.sqrt((1.0 - cosine.square()).clamp(1e-6, 1))
        phi = cosine * math.cos(self.m) - sine * math.sin(self.m)
        one_hot = F.one_hot(label, cosine.shape[1])
        return self.s * torch.where(one_hot == 1, phi, cosine)


class Trainer:
    def __init__(self):
        self.backbone = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.PReLU())
        self.metric_fc = ArcMarginProduct(32, 4)
        self.optimizer = torch.optim.SGD(
            [{"params": self.backbone.parameters()}, {"params": self.metric_fc.parameters()}],
            lr=0.05,
            weight_decay=5e-4,
        )
        self.centers = 2 * torch.randn(4, 8)
        self.losses = []

    def train(self, iterations):
        self.backbone.train()
        for i in range(iterations):
            label = torch.randint(4, (32,))
            feature = self.backbone(self.centers[label] + torch.randn(32, 8))
            loss = F.cross_entropy(self.metric_fc(feature, label), label)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.losses.append(loss.item())
            if i % 25 == 0:
                print(i, loss.item())


torch.manual_seed(52)
trainer = Trainer()
trainer.train(100)
row = ["SGD", 100, trainer.losses[0], trainer.losses[-1]]
print("TRUTH", json.dumps({"backbone": row, "metric_fc": row}))
