r"""Long-tailed recognition, second stage: attention and memory on fixed features.

Source: https://github.com/zhmiao/OpenLongTailRecognition-OLTR/issues/57
Odd: The backbone is fixed and only the attention between its layers is trained, with what follows.
"""

import torch
from torch import nn


class ModulatedAttention(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.theta = nn.Conv2d(channels, channels // 2, 1)
        self.phi = nn.Conv2d(channels, channels // 2, 1)
        self.g = nn.Conv2d(channels, channels // 2, 1)
        self.conv_back = nn.Conv2d(channels // 2, channels, 1, bias=False)
        self.spatial = nn.Conv2d(channels, 1, 1)

    def forward(self, x):
        b, _, h, w = x.shape
        q, k, v = (f(x).flatten(2) for f in (self.theta, self.phi, self.g))
        scores = (q.transpose(1, 2) @ k / q.size(1) ** 0.5).softmax(-1)
        y = self.conv_back((v @ scores.transpose(1, 2)).view(b, -1, h, w))
        return x + torch.sigmoid(self.spatial(x)) * y


class SecondStage(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.modulatedatt = ModulatedAttention(16)
        self.layer2 = nn.Sequential(nn.Conv2d(16, 24, 3, 2, 1), nn.BatchNorm2d(24), nn.ReLU())
        self.classifier = nn.Linear(24, classes)
        for part in (self.layer1, self.layer2):
            part.requires_grad_(False)

    def forward(self, image):
        x = self.layer2(self.modulatedatt(self.layer1(image)))
        return self.classifier(x.mean((2, 3)))


def build():
    return SecondStage()


def example_inputs():
    return torch.randn(6, 3, 20, 20)
