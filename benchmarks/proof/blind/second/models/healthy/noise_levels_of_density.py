"""Pose regression with a residual log-likelihood of a flow-like density.

Source: https://github.com/jeffffffli/res-loglikelihood-regression/issues/5
Odd: the loss can be negative; it is -log p of a density that can exceed one.
"""

import math

import torch
from torch import nn


class RegressFlow(nn.Module):
    def __init__(self, joints=5):
        super().__init__()
        self.joints = joints
        self.preact = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()
        )
        self.fc_coord = nn.Linear(32, joints * 2)
        self.fc_sigma = nn.Linear(32, joints * 2)
        nn.init.xavier_uniform_(self.fc_coord.weight, gain=0.01)
        nn.init.xavier_uniform_(self.fc_sigma.weight, gain=0.01)
        nn.init.constant_(self.fc_sigma.bias, -3.0)

    def forward(self, images, target):
        feat = self.preact(images).mean((2, 3))
        coord = self.fc_coord(feat).view(-1, self.joints, 2)
        sigma = self.fc_sigma(feat).view(-1, self.joints, 2).sigmoid()
        error = (coord - target).abs() / sigma
        nll = torch.log(sigma * math.sqrt(2)) + math.sqrt(2) * error
        return {"loss": nll.mean(), "coord": coord}


def example_inputs():
    return torch.randn(6, 3, 32, 32), 0.02 * torch.randn(6, 5, 2)
