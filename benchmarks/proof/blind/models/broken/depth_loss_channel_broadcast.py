"""A network that predicts depth maps and takes a smooth L1 loss.

Source: https://github.com/jiwei0921/CoNet/issues/3
Fault: depth of the data has no channel axis, so the difference is (B, B, H, W) and mixes images.
Cause: broadcast|shape|unsqueeze|channel|size
Place: depth|loss
"""

import torch
from torch import nn


class DepthNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.ReLU())
        self.dec = nn.ConvTranspose2d(width, 1, 2, stride=2)

    def forward(self, image, depth):
        pred_depth = torch.sigmoid(self.dec(self.enc(image)))
        diff = (pred_depth - depth).abs()  # here
        smooth_l1 = torch.where(diff < 1, 0.5 * diff**2, diff - 0.5)
        return {"loss": smooth_l1.mean(), "depth": pred_depth}


def example_inputs():
    return (
        torch.randn(4, 3, 16, 16),
        torch.rand(4, 16, 16),
    )
