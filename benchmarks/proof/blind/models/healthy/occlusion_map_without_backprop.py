"""Regularisation of optical flow by the brightness error of a warp.

Source: https://github.com/sniklaus/pytorch-liteflownet/issues/15
Odd: the error map with its square root is detached, so its slope at zero does not matter.
"""

import torch
from torch import nn


class FlowRegularizer(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.flow = nn.Sequential(nn.Conv2d(6, width, 3, padding=1), nn.LeakyReLU(0.1))
        self.to_flow = nn.Conv2d(width, 2, 3, padding=1)
        self.refine = nn.Conv2d(width + 3, 2, 3, padding=1)

    def forward(self, first, second):
        feat = self.flow(torch.cat([first, second], dim=1))
        flow = self.to_flow(feat)
        difference = (first - second).pow(2).sum(1, keepdim=True).sqrt().detach()
        residual = self.refine(torch.cat([feat, flow, difference], dim=1))
        return flow, flow + residual


def example_inputs():
    return (
        torch.rand(2, 3, 10, 10),
        torch.rand(2, 3, 10, 10),
    )
