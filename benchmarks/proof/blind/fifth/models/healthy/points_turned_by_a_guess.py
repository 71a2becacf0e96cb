r"""Classifier of clouds of points that first turns the points by a predicted matrix.

Source: https://github.com/fxia22/pointnet.pytorch
Odd: The last layer of the small network is zero and the identity is added, so it starts unturned.
"""

import torch
from torch import nn


class STN3d(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(
            nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(), nn.Conv1d(32, 64, 1), nn.ReLU()
        )
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, 9)
        nn.init.zeros_(self.fc2.weight)
        nn.init.zeros_(self.fc2.bias)

    def forward(self, x):
        x = self.convs(x).amax(dim=2)
        x = self.fc2(torch.relu(self.fc1(x)))
        return x.view(-1, 3, 3) + torch.eye(3)


class PointNetCls(nn.Module):
    def __init__(self, k=8):
        super().__init__()
        self.stn = STN3d()
        self.conv1 = nn.Conv1d(3, 32, 1)
        self.conv2 = nn.Conv1d(32, 64, 1)
        self.bn1, self.bn2 = nn.BatchNorm1d(32), nn.BatchNorm1d(64)
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, k))

    def forward(self, points):
        x = torch.bmm(points, self.stn(points.transpose(2, 1))).transpose(2, 1)
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.bn2(self.conv2(x)).amax(dim=2)
        return self.head(x).log_softmax(dim=1)


def build():
    return PointNetCls()


def example_inputs():
    return torch.randn(6, 50, 3)
