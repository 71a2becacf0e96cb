"""LeNet-5 (LeCun et al., 1998) with ReLU and maximum pooling: 61,706 parameters."""

import torch
from torch import nn


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)
        )

    def forward(self, images):
        return self.classifier(self.features(images).flatten(1))


def build_model():
    return LeNet()


def example_inputs():
    return (torch.randn(32, 1, 28, 28),)
