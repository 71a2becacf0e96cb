r"""Segmentation of organs in small volumes, with a residual connection around each stage.

Source: https://github.com/jackyko1991/vnet-tensorflow/issues/12
Fault: The sum at the end of a stage adds the result to its own norm, not to the stage's input.
Cause: residual|skip|shortcut|identity|(adds?|sum)\w*.{0,60}(itself|twice|same|own|input)
    |(stage|layer)?.?input.{0,40}(lost|not|never|unused|overwritten|replaced)|overwrit
Place: layer_input|\bnorm\b|stage
"""

import torch
from torch import nn


class Stage(nn.Module):
    def __init__(self, channels, n_convolutions):
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv3d(channels, channels, 3, padding=1) for _ in range(n_convolutions)
        )
        self.norms = nn.ModuleList(nn.BatchNorm3d(channels) for _ in range(n_convolutions))
        self.norm = nn.BatchNorm3d(channels)
        self.act = nn.PReLU(channels)

    def forward(self, layer_input):
        x = layer_input
        last = len(self.convolutions) - 1
        for i, (convolution, norm) in enumerate(zip(self.convolutions, self.norms, strict=True)):
            x = norm(convolution(x))
            if i == last:
                layer_input = self.norm(x)  # here
                x = x + layer_input
            x = self.act(x)
        return x


class VNet(nn.Module):
    def __init__(self, classes=3, width=6):
        super().__init__()
        self.first = nn.Conv3d(1, width, 3, padding=1)
        self.stage1 = Stage(width, 1)
        self.down = nn.Conv3d(width, 2 * width, 2, stride=2)
        self.stage2 = Stage(2 * width, 2)
        self.up = nn.ConvTranspose3d(2 * width, width, 2, stride=2)
        self.stage3 = Stage(width, 2)
        self.out = nn.Conv3d(width, classes, 1)

    def forward(self, volume):
        left = self.stage1(self.first(volume))
        bottom = self.stage2(self.down(left))
        return self.out(self.stage3(self.up(bottom) + left))


def build():
    return VNet()


def example_inputs():
    return torch.rand(2, 1, 16, 16, 12)
