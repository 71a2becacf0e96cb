"""Counting of plants with a domain classifier behind a gradient reversal.

Source: https://github.com/p2irc/UDA4POC/issues/3
Fault: grl_lambda is not passed on, so the adversary works with weight 1 whatever the caller says.
Cause: lambda|not (passed|used|forwarded)|ignored|default|unused
Place: grl_lambda|adapt
"""

import torch
from torch import nn


class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lambda_):
        ctx.lambda_ = lambda_
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        return -ctx.lambda_ * grad_output, None


class CountNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.downsample = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1), nn.ReLU())
        self.upsample = nn.ConvTranspose2d(width, 1, 2, stride=2)
        self.domain = nn.Linear(width, 2)

    def adapt(self, features, grl_lambda=1.0):
        return self.domain(GradReverse.apply(features.mean((2, 3)), grl_lambda))

    def forward(self, x, grl_lambda=1.0):
        features = self.downsample(x)
        density = self.upsample(features)
        return density, self.adapt(features)  # here


def example_inputs():
    return (
        torch.randn(2, 3, 16, 16),
        torch.tensor(0.0),
    )
