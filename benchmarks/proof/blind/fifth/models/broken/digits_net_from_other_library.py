r"""Small LeNet whose settings were taken over from a model of another library.

Source: https://github.com/fastestimator/fastestimator/pull/1201
Fault: Momentum 0.99 means the reverse here: the running statistics are almost the last batch alone.
Cause: momentum|running (mean|var|stat)\w*|(last|latest) batch
Place: \bbn[12]\b
"""

import torch
from torch import nn
from torch.nn import functional as F


class LeNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(16, momentum=0.99, eps=1e-3)  # here
        self.conv2 = nn.Conv2d(16, 32, 3, bias=False)
        self.bn2 = nn.BatchNorm2d(32, momentum=0.99, eps=1e-3)  # here
        self.fc1 = nn.Linear(32 * 25, 64)
        self.fc2 = nn.Linear(64, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def build():
    return LeNet()


def example_inputs():
    return torch.rand(16, 1, 28, 28)
