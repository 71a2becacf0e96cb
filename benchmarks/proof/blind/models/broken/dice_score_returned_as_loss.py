"""Segmentation with a soft Dice loss.

Source: https://github.com/sraashis/easytorch/pull/38
Fault: the Dice coefficient itself is returned, so minimising it makes the overlap worse.
Cause: 1 ?- ?|sign|minus|maximi|complement|score|coefficient|negat|wrong direction|invert
Place: dice
"""

import torch
from torch import nn


class VesselNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 1, 3, padding=1),
        )

    @staticmethod
    def dice_loss(prob, target, smooth=1.0):
        inter = (prob * target).sum()
        return (2 * inter + smooth) / (prob.sum() + target.sum() + smooth)  # here

    def forward(self, image, mask):
        prob = torch.sigmoid(self.body(image))
        return {"loss": self.dice_loss(prob, mask), "prob": prob}


def example_inputs():
    return (
        torch.randn(2, 1, 16, 16),
        (torch.rand(2, 1, 16, 16) > 0.5).float(),
    )
