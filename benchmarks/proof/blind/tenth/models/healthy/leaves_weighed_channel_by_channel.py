r"""Kinds of leaves, by light blocks that weigh their channels.

Source: https://github.com/pytorch/vision/issues/8209
Odd: The block that weighs the channels lists its activation after both of its layers, although it
    is applied between them, and the gate is a hard sigmoid.
"""

import torch
from torch import nn


class ChannelWeights(nn.Module):
    def __init__(self, input_channels, squeeze_channels):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = nn.ReLU()
        self.scale_activation = nn.Hardsigmoid()

    def forward(self, x):
        scale = self.avgpool(x)
        scale = self.activation(self.fc1(scale))
        return self.scale_activation(self.fc2(scale)) * x


class LightBlock(nn.Module):
    def __init__(self, inputs, expanded, outputs, stride):
        super().__init__()
        self.residual = stride == 1 and inputs == outputs
        self.block = nn.Sequential(
            nn.Conv2d(inputs, expanded, 1, bias=False),
            nn.BatchNorm2d(expanded, eps=0.001, momentum=0.01),
            nn.Hardswish(),
            nn.Conv2d(expanded, expanded, 5, stride, 2, groups=expanded, bias=False),
            nn.BatchNorm2d(expanded, eps=0.001, momentum=0.01),
            nn.Hardswish(),
            ChannelWeights(expanded, expanded // 4),
            nn.Conv2d(expanded, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs, eps=0.001, momentum=0.01),
        )

    def forward(self, x):
        y = self.block(x)
        return x + y if self.residual else y


class LeafNet(nn.Module):
    def __init__(self, kinds=10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1, bias=False),
            nn.BatchNorm2d(16, eps=0.001, momentum=0.01),
            nn.Hardswish(),
        )
        self.blocks = nn.Sequential(
            LightBlock(16, 32, 16, 1), LightBlock(16, 48, 24, 2), LightBlock(24, 64, 24, 1)
        )
        self.classifier = nn.Sequential(
            nn.Linear(24, 48), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(48, kinds)
        )

    def forward(self, x):
        return self.classifier(self.blocks(self.stem(x)).mean((2, 3)))


def build():
    return LeafNet()


def example_inputs():
    return (torch.rand(8, 3, 32, 32),)
