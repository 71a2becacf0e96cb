"""A backbone of a detector with frozen_stages=1.

Source: https://github.com/open-mmlab/mmdetection/pull/604
Odd: stem and first stage have no gradient and stay in eval mode when training.
"""

import torch
from torch import nn


class ResNetLike(nn.Module):
    def __init__(self, width=8, frozen_stages=1):
        super().__init__()
        self.stem = self._stage(3, width)
        self.layer1 = self._stage(width, width)
        self.layer2 = self._stage(width, 2 * width)
        self.rpn_head = nn.Conv2d(2 * width, 5, 1)
        self.frozen_stages = frozen_stages
        self._freeze_stages()

    @staticmethod
    def _stage(c_in, c_out):
        conv = nn.Conv2d(c_in, c_out, 3, padding=1, bias=False)
        return nn.Sequential(conv, nn.BatchNorm2d(c_out), nn.ReLU())

    def _freeze_stages(self):
        for i in range(self.frozen_stages + 1):
            m = self.stem if i == 0 else getattr(self, f"layer{i}")
            m.eval()
            m.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        self._freeze_stages()
        return self

    def forward(self, x):
        return self.rpn_head(self.layer2(self.layer1(self.stem(x))))


def example_inputs():
    return (torch.randn(4, 3, 16, 16),)
