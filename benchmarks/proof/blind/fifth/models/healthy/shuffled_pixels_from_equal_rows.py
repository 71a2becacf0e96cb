r"""Network that enlarges pictures by shuffling channels into pixels.

Source: https://github.com/fastai/fastai/blob/main/fastai/layers.py
Odd: Each four filters before a shuffle start equal, so that the enlarged map has no checkerboard.
"""

import torch
from torch import nn


def icnr_init(weight, scale=2, init=nn.init.kaiming_normal_):
    n_out, n_in, h, w = weight.shape
    k = init(torch.zeros(n_out // scale**2, n_in, h, w))
    return k.repeat_interleave(scale**2, dim=0)


class PixelShuffleICNR(nn.Sequential):
    def __init__(self, n_in, n_out, scale=2):
        conv = nn.Conv2d(n_in, n_out * scale**2, 1)
        conv.weight.data.copy_(icnr_init(conv.weight.data, scale))
        conv.bias.data.zero_()
        super().__init__(
            nn.utils.parametrizations.weight_norm(conv), nn.ReLU(), nn.PixelShuffle(scale)
        )


class SuperResolution(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU())
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1)
        )
        self.shuffle = PixelShuffleICNR(width, width)
        self.leave = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        h = self.enter(x)
        large = nn.functional.interpolate(x, scale_factor=2, mode="bilinear")
        return large + self.leave(self.shuffle(h + self.body(h)))


def build():
    return SuperResolution()


def example_inputs():
    return torch.rand(4, 3, 12, 12)
