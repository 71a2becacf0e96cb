"""A clustering network whose batch norms keep no statistics.

Source: https://github.com/xu-ji/IIC/issues/49
Odd: the batch norms have no running mean and use the batch in eval mode too;
    track_running_stats=False is on purpose, the test batches are like the training ones.
"""

import torch
from torch import nn


class ClusterNet(nn.Module):
    def __init__(self, clusters=10, subheads=3):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2, bias=False),
            nn.BatchNorm2d(16, track_running_stats=False),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 5, padding=2, bias=False),
            nn.BatchNorm2d(32, track_running_stats=False),
            nn.ReLU(inplace=True),
            nn.AdaptiveAvgPool2d(3),
            nn.Flatten(),
        )
        self.heads = nn.ModuleList(
            nn.Sequential(nn.Linear(288, clusters), nn.Softmax(dim=1)) for _ in range(subheads)
        )

        for head in self.heads:
            nn.init.normal_(head[0].weight, std=0.3)

    @staticmethod
    def iid_loss(a, b):
        joint = (a[:, :, None] * b[:, None]).sum(0)
        joint = (joint + joint.t()) / 2
        joint = (joint / joint.sum()).clamp(min=1e-8)
        rows, columns = joint.sum(1, keepdim=True), joint.sum(0, keepdim=True)
        return -(joint * (joint.log() - rows.log() - columns.log())).sum()

    def forward(self, x, x_transformed):
        a, b = self.trunk(x), self.trunk(x_transformed)
        losses = [self.iid_loss(head(a), head(b)) for head in self.heads]
        return {"loss": torch.stack(losses).mean(), "features": a}


def example_inputs():
    x = torch.randn(8, 1, 24, 24).repeat(4, 1, 1, 1)
    return x, x.flip(-1) + 0.05 * torch.randn_like(x)
