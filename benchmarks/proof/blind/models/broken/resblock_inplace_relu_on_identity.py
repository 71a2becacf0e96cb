"""The pre-activation residual block of a VQ-VAE encoder.

Source: https://github.com/rosinality/vq-vae-2-pytorch/issues/60
Fault: the first ReLU is in place and changes the input, so the shortcut carries ReLU(x), not x.
Cause: in.?place
Place: relu|conv|ReLU
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

    def forward(self, x):
        out = self.conv(x)
        return out + x


class Encoder(nn.Module):
    def __init__(self, channel=8, n_block=2):
        super().__init__()
        self.stem = nn.Conv2d(3, channel, 4, 2, 1)
        self.blocks = nn.Sequential(*[ResBlock(channel, 4) for _ in range(n_block)])
        self.final = nn.Conv2d(channel, 4, 1)

    def forward(self, x):
        return self.final(self.blocks(self.stem(x)))


def build():
    return Encoder()


def example_inputs():
    return (torch.randn(2, 3, 16, 16),)
