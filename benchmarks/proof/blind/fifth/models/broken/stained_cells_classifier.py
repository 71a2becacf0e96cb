r"""Classifier of the proteins of stained cells with several labels for each picture.

Source: https://github.com/weka511/hpa-scc/issues/38
Fault: The view has a wrong number of features per picture and so joins four pictures in one row.
Cause: \bviews?\b|reshap\w*|flatten\w*
    |(samples?|rows?|pictures?|batch) .*(merge|differ\w* from|changed?|fewer|joined|lost|mixed)
    |(mix|merge|join|depend)\w* .*(batch|samples?|rows?)
Place: \bview\b
"""

import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self, labels=18):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 8, 5, padding=2)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 5, padding=2)
        self.bn2 = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(16 * 16 * 16, 64)
        self.fc2 = nn.Linear(64, labels)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.pool(F.relu(self.bn2(self.conv2(x))))
        x = x.view(-1, 16 * 16 * 16)  # here
        x = F.dropout(F.relu(self.fc1(x)), 0.3, self.training)
        return self.fc2(x)


def build():
    return Net()


def example_inputs():
    return torch.rand(16, 4, 32, 32)
