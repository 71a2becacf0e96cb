r"""Residual stack of a vector-quantised image autoencoder.

Source: https://github.com/rosinality/vq-vae-2-pytorch/issues/60
Fault: The first ReLU is in place, so the skip adds rectified values instead of the input.
Cause: in[- ]?place.*(relu|skip|identity|residual|input)|(relu|input|skip|identity).*in[- ]?place
Place: ReLU|ResBlock|conv|inplace
"""

import torch
from torch import nn


class ResBlock(nn.Module):
    def __init__(self, in_channel, channel):
        super().__init__()
        self.conv = nn.Sequential(
            nn.ReLU(inplace=True),  # here
            nn.Conv2d(in_channel, channel, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channel, in_channel, 1),
        )

    def forward(self, input):
        out = self.conv(input)
        out += input
        return out


class Encoder(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down = nn.Conv2d(3, width, 4, stride=2, padding=1)
        self.blocks = nn.Sequential(ResBlock(width, 8), ResBlock(width, 8))

    def forward(self, x):
        return self.blocks(self.down(x))


def build():
    return Encoder()


def example_inputs():
    return torch.randn(3, 3, 16, 16)
