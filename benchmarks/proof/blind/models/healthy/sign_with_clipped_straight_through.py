"""A binary network with the clipped straight-through estimator.

Source: https://github.com/AngusG/cleverhans-attacking-bnns/issues/2
Odd: sign has no gradient; the Function passes it where the input is within one.
"""

import torch
import torch.nn.functional as F
from torch import nn


class BinarizeSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= 1).float()


class BinaryLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, BinarizeSTE.apply(self.weight) / self.in_features**0.5, self.bias)


def build():
    return nn.Sequential(BinaryLinear(10, 64), nn.BatchNorm1d(64), nn.Hardtanh(), nn.Linear(64, 3))


def example_inputs():
    return (torch.randn(32, 10),)
