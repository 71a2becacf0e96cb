"""An AlexNet-like stack with ReLU in place everywhere.

Source: https://github.com/pytorch/vision/issues/807
Odd: the in-place ReLU overwrites outputs of convolutions, which autograd does not need.
"""

import torch
from torch import nn


class SmallAlexNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.ReLU(inplace=True),
        )
        self.classifier = nn.Sequential(
            nn.Linear(256, 32), nn.ReLU(inplace=True), nn.Linear(32, classes)
        )

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def example_inputs():
    return (torch.randn(4, 3, 16, 16),)
