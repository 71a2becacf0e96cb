"""A regression network whose hidden layers are written straight into forward.

Source: https://github.com/pytorch/pytorch/issues/1291
Fault: every call makes new random linear layers, so the hidden layers are never trained.
Cause: (created|built|made|instantiat|new).*forward|not registered|(every|each) (call|forward)
Place: hidden|linear|forward
"""

import torch
from torch import nn


class ThreeLayerNet(nn.Module):
    def __init__(self, d_in=10, h=32, d_out=1):
        super().__init__()
        self.d_in, self.h = d_in, h
        self.linear3 = nn.Linear(h, d_out)

    def forward(self, x):
        h_relu = nn.Linear(self.d_in, self.h)(x).clamp(min=0)  # here
        h_relu = nn.Linear(self.h, self.h)(h_relu).clamp(min=0)  # here
        return self.linear3(h_relu)


def example_inputs():
    return (torch.randn(16, 10),)
