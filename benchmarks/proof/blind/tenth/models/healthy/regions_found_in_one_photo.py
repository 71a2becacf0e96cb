r"""Finds regions in a single photograph by itself, each pixel naming the region it belongs to.

Source: https://github.com/kanezaki/pytorch-unsupervised-segmentation/issues/1
Odd: A batch norm follows the last convolution, the batch is a single picture, and the target is
    the argmax of the net's own answer, which carries no gradient.
"""

import torch
from torch import nn
from torch.nn import functional as F


class RegionNet(nn.Module):
    def __init__(self, channels=3, width=24, convs=2):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, width, 3, 1, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.ModuleList(nn.Conv2d(width, width, 3, 1, 1) for _ in range(convs - 1))
        self.bn2 = nn.ModuleList(nn.BatchNorm2d(width) for _ in range(convs - 1))
        self.conv3 = nn.Conv2d(width, width, 1)
        self.bn3 = nn.BatchNorm2d(width)

    def forward(self, x):
        x = self.bn1(F.relu(self.conv1(x)))
        for conv, norm in zip(self.conv2, self.bn2):
            x = norm(F.relu(conv(x)))
        return self.bn3(self.conv3(x))


class RegionFinder(nn.Module):
    def __init__(self, weight=1.0):
        super().__init__()
        self.net = RegionNet()
        self.weight = weight

    def forward(self, photo):
        response = self.net(photo)
        target = response.argmax(1).detach()
        similar = F.cross_entropy(response, target)
        down = (response[:, :, 1:] - response[:, :, :-1]).abs().mean()
        right = (response[:, :, :, 1:] - response[:, :, :, :-1]).abs().mean()
        return response, similar + self.weight * (down + right)


def build():
    return RegionFinder()


def example_inputs():
    return (torch.rand(1, 3, 32, 32),)
