"""A detector head on a batch norm that has buffers in place of parameters.

Source: https://github.com/VainF/Torch-Pruning/issues/211
Odd: weight and bias of the norm are buffers and never train: that is the point of it.
"""

import torch
from torch import nn


class FrozenBatchNorm2d(nn.Module):
    def __init__(self, n, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", torch.ones(n))
        self.register_buffer("bias", torch.zeros(n))
        self.register_buffer("running_mean", torch.zeros(n))
        self.register_buffer("running_var", torch.ones(n) - eps)

    def forward(self, x):
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        bias = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + bias.reshape(1, -1, 1, 1)


def build():
    stem = nn.Conv2d(3, 8, 3, padding=1, bias=False)
    return nn.Sequential(stem, FrozenBatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 5, 1))


def example_inputs():
    return (torch.randn(4, 3, 12, 12),)
