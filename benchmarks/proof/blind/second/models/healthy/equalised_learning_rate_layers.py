"""A style-based generator whose weights are scaled at run time.

Source: https://github.com/rosinality/style-based-gan-pytorch/blob/master/model.py
Odd: the weights are drawn from N(0, 1), far from any usual scheme, and the gradients are small;
    each layer multiplies its weight by sqrt(2 / fan_in) in the forward.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class EqualLinear(nn.Module):
    def __init__(self, i, o, bias_init=0.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i))
        self.bias = nn.Parameter(torch.full((o,), bias_init))
        self.scale = math.sqrt(2 / i)

    def forward(self, x):
        return F.linear(x, self.weight * self.scale, self.bias)


class EqualConv2d(nn.Module):
    def __init__(self, i, o, k):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(o, i, k, k))
        self.bias = nn.Parameter(torch.zeros(o))
        self.scale, self.padding = math.sqrt(2 / (i * k * k)), k // 2

    def forward(self, x):
        return F.conv2d(x, self.weight * self.scale, self.bias, padding=self.padding)


class StyledBlock(nn.Module):
    def __init__(self, i, o, style):
        super().__init__()
        self.conv = EqualConv2d(i, o, 3)
        self.to_scale = EqualLinear(style, o, 1.0)
        self.to_shift = EqualLinear(style, o)

    def forward(self, x, w):
        x = F.instance_norm(F.leaky_relu(self.conv(x), 0.2))
        return x * self.to_scale(w)[..., None, None] + self.to_shift(w)[..., None, None]


class Generator(nn.Module):
    def __init__(self, style=32):
        super().__init__()
        self.mapping = nn.Sequential(
            EqualLinear(style, style), nn.LeakyReLU(0.2), EqualLinear(style, style)
        )
        self.constant = nn.Parameter(torch.randn(1, 32, 4, 4))
        self.blocks = nn.ModuleList([StyledBlock(32, 32, style), StyledBlock(32, 16, style)])
        self.to_rgb = EqualConv2d(16, 3, 1)

    def forward(self, z):
        w = self.mapping(z)
        x = self.constant.expand(len(z), -1, -1, -1)
        for block in self.blocks:
            x = block(F.interpolate(x, scale_factor=2), w)
        return self.to_rgb(x)


def build():
    return Generator()


def example_inputs():
    return (torch.randn(4, 32),)
