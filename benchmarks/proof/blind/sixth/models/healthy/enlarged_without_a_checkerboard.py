r"""Enlargement of pictures by a factor of two in each direction.

Source: https://arxiv.org/abs/1707.02937
Odd: Groups of four filters start with equal weights, so that the first enlargement is a plain
    repetition of pixels; the order of the pixels makes them differ after a step.
"""

import torch
from torch import nn


def icnr_(weight, scale):
    kernel = torch.empty(weight.size(0) // scale**2, *weight.shape[1:])
    nn.init.kaiming_normal_(kernel)
    with torch.no_grad():
        weight.copy_(kernel.repeat_interleave(scale**2, dim=0))


class Enlarge(nn.Module):
    def __init__(self, colours=3, width=24, scale=2):
        super().__init__()
        self.first = nn.Conv2d(colours, width, 5, padding=2)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.sub_pixels = nn.Conv2d(width, colours * scale**2, 3, padding=1)
        icnr_(self.sub_pixels.weight, scale)
        nn.init.zeros_(self.sub_pixels.bias)
        self.shuffle = nn.PixelShuffle(scale)

    def forward(self, small):
        x = torch.tanh(self.first(small))
        x = torch.tanh(self.second(x))
        return self.shuffle(self.sub_pixels(x))


def build():
    return Enlarge()


def example_inputs():
    return torch.rand(4, 3, 16, 16)
