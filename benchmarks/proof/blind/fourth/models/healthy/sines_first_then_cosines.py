r"""Noise predictor of a diffusion model.

Source: https://github.com/huggingface/blog/issues/2183
Odd: The sines come first and all cosines after them; they do not alternate, and need not.
"""

import math

import torch
from torch import nn


class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        half = self.dim // 2
        rates = torch.exp(torch.arange(half) * (-math.log(10000) / (half - 1)))
        angles = time[:, None] * rates[None]
        return torch.cat((angles.sin(), angles.cos()), dim=-1)


class Block(nn.Module):
    def __init__(self, channels, out, time_dim):
        super().__init__()
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(time_dim, out))
        self.conv1 = nn.Sequential(nn.Conv2d(channels, out, 3, padding=1), nn.GroupNorm(4, out))
        self.conv2 = nn.Sequential(nn.Conv2d(out, out, 3, padding=1), nn.GroupNorm(4, out))
        self.shortcut = nn.Conv2d(channels, out, 1)

    def forward(self, x, t):
        h = nn.functional.silu(self.conv1(x) + self.time(t)[:, :, None, None])
        return nn.functional.silu(self.conv2(h)) + self.shortcut(x)


class Denoiser(nn.Module):
    def __init__(self, width=16, dim=16):
        super().__init__()
        self.time_mlp = nn.Sequential(
            SinusoidalPositionEmbeddings(dim), nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, 32)
        )
        self.down = Block(1, width, 32)
        self.middle = Block(width, width, 32)
        self.up = Block(2 * width, width, 32)
        self.final = nn.Conv2d(width, 1, 1)

    def forward(self, x, t):
        t = self.time_mlp(t)
        skip = self.down(x, t)
        h = self.middle(nn.functional.avg_pool2d(skip, 2), t)
        h = nn.functional.interpolate(h, scale_factor=2)
        return self.final(self.up(torch.cat([h, skip], 1), t))


def build():
    return Denoiser()


def example_inputs():
    return torch.randn(4, 1, 12, 12), torch.randint(0, 1000, (4,))
