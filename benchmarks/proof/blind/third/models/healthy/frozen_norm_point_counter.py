r"""Density counter whose backbone stays in eval mode whatever mode is asked.

Source: https://github.com/ServiceNow/LCFCN/issues/20
Odd: train() is overridden so that the norm layers of the backbone keep their statistics, as is
    usual for a pretrained backbone with a batch of one; its weights still learn.
"""

import torch
from torch import nn


class PointCounter(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.score = nn.Conv2d(width, 2, 1)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, image):
        return self.score(self.backbone(image))


def build():
    return PointCounter()


def example_inputs():
    return torch.randn(1, 3, 16, 16)
