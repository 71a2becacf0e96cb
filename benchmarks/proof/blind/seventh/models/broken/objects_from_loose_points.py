r"""Kind of an object from an unordered set of points, with a learnt turn of the points.

Source: https://github.com/fxia22/pointnet.pytorch/issues/27
Fault: The log-softmax of the scores runs over the batch, not over the classes.
Cause: softmax.{0,140}(batch|sample|dim\b|axis|wrong|class)
    |(batch|sample).{0,80}(softmax|normali[sz])
    |(class\w*|prob\w*).{0,80}(not sum|not normali|across the batch|over the batch)
Place: log_softmax|softmax|\bdim\b
"""

import torch
import torch.nn.functional as F
from torch import nn


class Turn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(3, 24, 1, bias=False)
        self.conv2 = nn.Conv1d(24, 64, 1, bias=False)
        self.fc1, self.fc2 = nn.Linear(64, 32, bias=False), nn.Linear(32, 9)
        self.bn1, self.bn2 = nn.BatchNorm1d(24), nn.BatchNorm1d(64)
        self.bn3 = nn.BatchNorm1d(32)
        self.register_buffer("eye", torch.eye(3))

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x))).amax(2)
        x = self.fc2(F.relu(self.bn3(self.fc1(x))))
        return x.view(-1, 3, 3) + self.eye


class PointFeatures(nn.Module):
    def __init__(self):
        super().__init__()
        self.turn = Turn()
        self.conv1 = nn.Conv1d(3, 24, 1, bias=False)
        self.conv2 = nn.Conv1d(24, 48, 1, bias=False)
        self.conv3 = nn.Conv1d(48, 128, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm1d(24), nn.BatchNorm1d(48)
        self.bn3 = nn.BatchNorm1d(128)

    def forward(self, points):
        trans = self.turn(points)
        x = torch.bmm(points.transpose(2, 1), trans).transpose(2, 1)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.bn3(self.conv3(x)).amax(2), trans


class LoosePoints(nn.Module):
    def __init__(self, kinds=8):
        super().__init__()
        self.feat = PointFeatures()
        self.fc1 = nn.Linear(128, 64, bias=False)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, kinds)
        self.bn1, self.bn2 = nn.BatchNorm1d(64), nn.BatchNorm1d(32)
        self.dropout = nn.Dropout(0.3)

    def forward(self, points):
        x, trans = self.feat(points)
        x = F.relu(self.bn1(self.fc1(x)))
        x = F.relu(self.bn2(self.dropout(self.fc2(x))))
        x = self.fc3(x)
        return F.log_softmax(x, dim=0), trans  # here


def build():
    return LoosePoints()


def example_inputs():
    points = F.normalize(torch.randn(6, 3, 64), dim=1)
    return (points * (0.4 + torch.rand(6, 3, 1)),)
