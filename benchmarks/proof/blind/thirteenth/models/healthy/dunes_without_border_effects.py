r"""Height of dunes from their shading, with reflected borders instead of zeros.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ReflectionPad2d.html
Healthy: the convolutions have padding=0 and seem to shrink the picture, but a reflecting pad in
    front of each one keeps the size; the last layer has no activation, since heights have a sign.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE = 16


def same_size(inside, outside):
    return nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(inside, outside, 3))


class DuneHeight(nn.Module):
    def __init__(self, channels=24):
        super().__init__()
        self.first = nn.Sequential(same_size(1, channels), nn.GELU())
        self.second = nn.Sequential(same_size(channels, channels), nn.GELU())
        self.third = nn.Sequential(same_size(channels, channels), nn.GELU())
        self.last = same_size(channels, 1)

    def forward(self, shading, height):
        h = self.first(shading)
        h = h + self.second(h)
        h = h + self.third(h)
        return F.l1_loss(self.last(h), height)


def make_dunes(n, seed):
    g = torch.Generator().manual_seed(seed)
    coarse = torch.randn(n, 1, 5, 5, generator=g)
    height = F.interpolate(coarse, size=(SIDE, SIDE), mode="bicubic", align_corners=True)
    height = height - height.mean((2, 3), keepdim=True)
    curve = F.avg_pool2d(F.pad(height, (1, 1, 1, 1), mode="reflect"), 3, stride=1) - height
    shading = 0.5 * height + 2 * curve
    return shading + 0.02 * torch.randn(n, 1, SIDE, SIDE, generator=g), height


def build():
    torch.manual_seed(0)
    return DuneHeight()


def example_inputs():
    return make_dunes(24, seed=8)
