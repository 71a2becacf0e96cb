r"""Small image network with activations made of straight pieces.

Source: https://github.com/pytorch/vision/blob/main/torchvision/models/mobilenetv3.py
Odd: Gates are clipped at exactly 0 and 1 with no gradient beyond, and the pooling comes first.
"""

import torch
from torch import nn


class SqueezeExcitation(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(channels, channels // 4, 1)
        self.fc2 = nn.Conv2d(channels // 4, channels, 1)
        self.scale_activation = nn.Hardsigmoid()

    def forward(self, x):
        scale = nn.functional.relu(self.fc1(self.avgpool(x)))
        return self.scale_activation(self.fc2(scale)) * x


def unit(n_in, n_out, kernel=1, stride=1, groups=1, activation=nn.Hardswish):
    return nn.Sequential(
        nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(n_out, eps=0.001, momentum=0.01),
        activation(),
    )


class Bneck(nn.Module):
    def __init__(self, channels, expanded):
        super().__init__()
        self.block = nn.Sequential(
            unit(channels, expanded),
            unit(expanded, expanded, 3, groups=expanded),
            SqueezeExcitation(expanded),
            unit(expanded, channels, activation=nn.Identity),
        )

    def forward(self, x):
        return x + self.block(x)


class SmallMobileNetV3(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            unit(3, 16, 3, 2), Bneck(16, 48), unit(16, 24, 3, 2), Bneck(24, 72), unit(24, 96)
        )
        self.classifier = nn.Sequential(
            nn.Linear(96, 64), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(64, classes)
        )

    def forward(self, x):
        return self.classifier(self.features(x).mean(dim=(2, 3)))


def build():
    return SmallMobileNetV3()


def example_inputs():
    return torch.randn(6, 3, 32, 32)
