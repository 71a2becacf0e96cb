"""The shape of MobileNet V1 (Howard et al., 2017), without weights: 4,231,976 parameters."""

import torch
from torch import nn

# The channels and the stride of each block.
BLOCKS = [(64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5,
          (1024, 2), (1024, 1)]  # fmt: skip


def block(channels_in, channels_out, kernel, stride, groups=1):
    return nn.Sequential(
        nn.Conv2d(
            channels_in, channels_out, kernel, stride, kernel // 2, groups=groups, bias=False
        ),
        nn.BatchNorm2d(channels_out),
        nn.ReLU6(inplace=True),
    )


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        layers, channels = [block(3, 32, 3, 2)], 32
        for wide, stride in BLOCKS:
            depthwise = block(channels, channels, 3, stride, groups=channels)
            layers.append(nn.Sequential(depthwise, block(channels, wide, 1, 1)))
            channels = wide
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(channels, 1000)

    def forward(self, images):
        return self.classifier(self.avgpool(self.features(images)).flatten(1))


def build_model():
    return MobileNet()


def example_inputs():
    return (torch.randn(1, 3, 224, 224),)
