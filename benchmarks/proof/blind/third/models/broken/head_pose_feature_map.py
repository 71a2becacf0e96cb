r"""Head pose regressor that turns feature maps into a set of spatial vectors.

Source: https://github.com/ohtlab/headpose-fsanet-pytorch/issues/10
Fault: (batch, channels, h, w) is viewed as (batch, h*w, channels), which mixes channels and places.
Cause: (view|reshape).*(transpose|permute|scramble|mix|wrong|order)
    |(transpose|permute).*(instead of|before|missing).*
Place: view|reshape|forward|FeatureSet|PoseNet
"""

import torch
from torch import nn


class PoseNet(nn.Module):
    def __init__(self, channels=12):
        super().__init__()
        self.channels = channels
        self.stem = nn.Sequential(
            nn.Conv2d(3, channels, 3, stride=2, padding=1),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, stride=2, padding=1),
        )
        self.score = nn.Linear(channels, 1)
        self.angles = nn.Linear(channels, 3)

    def forward(self, image):
        u = self.stem(image)
        vectors = u.view(u.size(0), -1, self.channels)  # here
        weight = torch.softmax(self.score(vectors), dim=1)
        return self.angles((weight * vectors).sum(dim=1))


def build():
    return PoseNet()


def example_inputs():
    return torch.randn(4, 3, 28, 28)
