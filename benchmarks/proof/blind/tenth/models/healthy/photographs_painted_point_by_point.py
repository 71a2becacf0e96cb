r"""Paints a photograph in the manner of a picture, with the statistics looked up at each point.

Source: https://github.com/Huage001/AdaAttN/issues/8
Odd: The maps are normalised by their own mean and unbiased deviation without an instance norm,
    the attention is not scaled, and a deviation is the root of a mean square less a squared mean.
"""

import torch
from torch import nn
from torch.nn import functional as F


def mean_variance_norm(feat, eps=1e-5):
    flat = feat.flatten(2)
    mean = flat.mean(2)[:, :, None, None]
    std = (flat.var(2) + eps).sqrt()[:, :, None, None]
    return (feat - mean) / std


class PointwiseStyle(nn.Module):
    def __init__(self, channels, key_channels):
        super().__init__()
        self.f = nn.Conv2d(key_channels, key_channels, 1)
        self.g = nn.Conv2d(key_channels, key_channels, 1)
        self.h = nn.Conv2d(channels, channels, 1)

    def forward(self, content, style, content_key, style_key):
        query = self.f(content_key).flatten(2).transpose(1, 2)
        key = self.g(style_key).flatten(2)
        value = self.h(style).flatten(2).transpose(1, 2)
        attention = torch.softmax(torch.bmm(query, key), dim=-1)
        mean = torch.bmm(attention, value)
        std = (torch.bmm(attention, value**2) - mean**2).clamp(min=1e-6).sqrt()
        mean = mean.transpose(1, 2).reshape(content.shape)
        std = std.transpose(1, 2).reshape(content.shape)
        return std * mean_variance_norm(content) + mean


class PainterNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stage1 = nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(3, width, 3, 2), nn.ReLU())
        self.stage2 = nn.Sequential(
            nn.ReflectionPad2d(1), nn.Conv2d(width, 2 * width, 3, 2), nn.ReLU()
        )
        self.transfer = PointwiseStyle(2 * width, 3 * width)
        self.decoder = nn.Sequential(
            nn.ReflectionPad2d(1),
            nn.Conv2d(2 * width, width, 3),
            nn.ReLU(),
            nn.Upsample(scale_factor=2),
            nn.ReflectionPad2d(1),
            nn.Conv2d(width, width, 3),
            nn.ReLU(),
            nn.Upsample(scale_factor=2),
            nn.ReflectionPad2d(1),
            nn.Conv2d(width, 3, 3),
        )

    def encode(self, x):
        low = self.stage1(x)
        high = self.stage2(low)
        small = F.interpolate(low, size=high.shape[2:], mode="area")
        key = torch.cat((mean_variance_norm(small), mean_variance_norm(high)), 1)
        return high, key

    def forward(self, content, style):
        content, content_key = self.encode(content)
        style, style_key = self.encode(style)
        return self.decoder(self.transfer(content, style, content_key, style_key))


def build():
    return PainterNet()


def example_inputs():
    return torch.rand(2, 3, 32, 32), torch.rand(2, 3, 40, 40)
