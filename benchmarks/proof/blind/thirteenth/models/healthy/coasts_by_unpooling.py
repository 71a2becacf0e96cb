r"""Marks land and water in small radar pictures, with pooling that is undone at the same places.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxUnpool2d.html
Healthy: after the unpooling three of four values are exactly zero, as they should be; the indices
    of each pooling are handed to the unpooling of the same size, in reverse order.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE = 16


def conv(inside, outside):
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1, bias=False),
        nn.BatchNorm2d(outside), nn.ReLU(),
    )


class CoastNet(nn.Module):
    def __init__(self, channels=12):
        super().__init__()
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2)
        self.down1 = conv(1, channels)
        self.down2 = conv(channels, 2 * channels)
        self.up2 = conv(2 * channels, channels)
        self.up1 = conv(channels, channels)
        self.out = nn.Conv2d(channels, 1, 1)

    def forward(self, picture, land):
        h, fine = self.pool(self.down1(picture))
        h, coarse = self.pool(self.down2(h))
        h = self.up2(self.unpool(h, coarse))
        h = self.up1(self.unpool(h, fine))
        return F.binary_cross_entropy_with_logits(self.out(h), land)


def make_coasts(n, seed):
    g = torch.Generator().manual_seed(seed)
    coarse = torch.randn(n, 1, 4, 4, generator=g)
    relief = F.interpolate(coarse, size=(SIDE, SIDE), mode="bilinear", align_corners=True)
    land = (relief > 0).float()
    return land + 0.5 * torch.randn(n, 1, SIDE, SIDE, generator=g), land


def build():
    torch.manual_seed(0)
    return CoastNet()


def example_inputs():
    return make_coasts(24, seed=16)
