r"""Density of small pictures by affine couplings on a checkerboard of channels.

Source: https://github.com/ndeutschmann/zunis/issues/28
Fault: The log-determinant is the log of the product of all the scales, and the product of so many
    numbers below one is zero in single precision.
Cause: \bprod(ucts?)?\b.{0,120}(\blog|underflow|zero|\b0\b|inf|overflow|vanish|many|\bsum)
    |\blog\w*.{0,60}(\bprod(ucts?)?\b|of zero|log\(0|of 0\b)
    |underflow\w*|sum of (the )?log
Place: \bprod\b|log_?det\w*|\bscale\b
"""

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, channels, hidden=32):
        super().__init__()
        half = channels // 2
        self.net = nn.Sequential(
            nn.Conv2d(half, hidden, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(hidden, hidden, 1),
            nn.ReLU(),
            nn.Conv2d(hidden, 2 * half, 3, padding=1),
        )
        nn.init.normal_(self.net[-1].weight, std=0.01)
        nn.init.zeros_(self.net[-1].bias)

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        shift, raw = self.net(a).chunk(2, dim=1)
        scale = torch.sigmoid(raw)
        y = torch.cat([(b + shift) * scale, a], dim=1)
        log_det = torch.log(scale.flatten(1).prod(1))  # here
        return y, log_det


class PictureFlow(nn.Module):
    def __init__(self, depth=4):
        super().__init__()
        self.squeeze = nn.PixelUnshuffle(2)
        self.couplings = nn.ModuleList(Coupling(12) for _ in range(depth))
        self.log_gain = nn.ParameterList(nn.Parameter(torch.zeros(12)) for _ in range(depth))

    def forward(self, picture):
        z = self.squeeze(picture)
        log_det = z.new_zeros(len(z))
        for coupling, gain in zip(self.couplings, self.log_gain):
            z = z * gain.exp()[:, None, None]
            log_det = log_det + gain.sum() * z.shape[2] * z.shape[3]
            z, step = coupling(z)
            log_det = log_det + step
        prior = -0.5 * (z.square() + 1.8378770664).flatten(1).sum(1)
        return prior + log_det, z


def build():
    return PictureFlow()


def example_inputs():
    return (torch.rand(4, 3, 16, 16) - 0.5,)
