r"""Generator of faces whose kernels are scaled by a style and then normalised.

Source: https://github.com/rosinality/stylegan2-pytorch/blob/master/model.py
Odd: The weights are drawn from a wide normal and scaled at each call, the batch is folded into
    the channels as groups, and the noise is drawn anew in evaluation too.
"""

import itertools

import torch
import torch.nn.functional as F
from torch import nn


class EqualLinear(nn.Module):
    def __init__(self, inputs, outputs, bias_init=0.0, lr_mul=1.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs).div_(lr_mul))
        self.bias = nn.Parameter(torch.full((outputs,), bias_init))
        self.scale, self.lr_mul = lr_mul / inputs**0.5, lr_mul

    def forward(self, x):
        return F.linear(x, self.weight * self.scale, self.bias * self.lr_mul)


class ModulatedConv2d(nn.Module):
    def __init__(self, inputs, outputs, kernel, style, demodulate=True):
        super().__init__()
        self.demodulate, self.padding = demodulate, kernel // 2
        self.scale = 1 / (inputs * kernel**2) ** 0.5
        self.weight = nn.Parameter(torch.randn(1, outputs, inputs, kernel, kernel))
        self.modulation = EqualLinear(style, inputs, bias_init=1.0)

    def forward(self, x, style):
        b, c, h, w = x.shape
        weight = self.scale * self.weight * self.modulation(style).view(b, 1, c, 1, 1)
        if self.demodulate:
            weight = weight * torch.rsqrt(weight.square().sum((2, 3, 4), keepdim=True) + 1e-8)
        out = F.conv2d(x.reshape(1, b * c, h, w), weight.flatten(0, 1), None, 1, self.padding, 1, b)
        return out.view(b, -1, h, w)


class StyledConv(nn.Module):
    def __init__(self, inputs, outputs, style, upsample=False):
        super().__init__()
        self.upsample = upsample
        self.conv = ModulatedConv2d(inputs, outputs, 3, style)
        self.noise = nn.Parameter(torch.zeros(1))
        self.bias = nn.Parameter(torch.zeros(1, outputs, 1, 1))

    def forward(self, x, style):
        if self.upsample:
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
        x = self.conv(x, style)
        x = x + self.noise * x.new_empty(x.size(0), 1, *x.shape[2:]).normal_() + self.bias
        return F.leaky_relu(x, 0.2) * 2**0.5


class ToRGB(nn.Module):
    def __init__(self, inputs, style):
        super().__init__()
        self.conv = ModulatedConv2d(inputs, 3, 1, style, demodulate=False)
        self.bias = nn.Parameter(torch.zeros(1, 3, 1, 1))

    def forward(self, x, style, skip=None):
        out = self.conv(x, style) + self.bias
        if skip is not None:
            out = out + F.interpolate(skip, scale_factor=2, mode="bilinear", align_corners=False)
        return out


class Faces(nn.Module):
    def __init__(self, style=32, channels=(32, 24, 16), depth=3):
        super().__init__()
        self.style = nn.ModuleList(EqualLinear(style, style, lr_mul=0.01) for _ in range(depth))
        self.constant = nn.Parameter(torch.randn(1, channels[0], 4, 4))
        self.conv1 = StyledConv(channels[0], channels[0], style)
        self.to_rgb1 = ToRGB(channels[0], style)
        self.convs, self.to_rgbs = nn.ModuleList(), nn.ModuleList()
        for a, b in itertools.pairwise(channels):
            self.convs.append(StyledConv(a, b, style, upsample=True))
            self.to_rgbs.append(ToRGB(b, style))

    def forward(self, z):
        w = z * torch.rsqrt(z.square().mean(1, keepdim=True) + 1e-8)
        for layer in self.style:
            w = F.leaky_relu(layer(w), 0.2) * 2**0.5
        x = self.conv1(self.constant.expand(len(z), -1, -1, -1), w)
        skip = self.to_rgb1(x, w)
        for conv, to_rgb in zip(self.convs, self.to_rgbs):
            x = conv(x, w)
            skip = to_rgb(x, w, skip)
        return skip


def build():
    return Faces()


def example_inputs():
    return (torch.randn(4, 32),)
