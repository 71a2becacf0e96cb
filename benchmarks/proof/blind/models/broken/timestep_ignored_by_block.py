r"""A one-dimensional denoiser for diffusion with a time embedding.

Source: https://github.com/huggingface/diffusers/issues/2664
Fault: the blocks accept temb and never use it, so the network cannot know the noise level.
Cause: (time|temb|t\b).*(unused|ignored|never|not used)|(unused|ignored|never used).*(time|temb)
Place: time|temb
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class DownBlock(nn.Module):
    def __init__(self, c_in, c_out, time_dim):
        super().__init__()
        self.conv = nn.Conv1d(c_in, c_out, 3, padding=1)
        self.time_proj = nn.Linear(time_dim, c_out)
        self.norm = nn.GroupNorm(4, c_out)

    def forward(self, x, temb):
        return F.silu(self.norm(self.conv(x)))  # here


class UNet1D(nn.Module):
    def __init__(self, channels=2, width=16, time_dim=16):
        super().__init__()
        self.time_dim = time_dim
        self.time_mlp = nn.Sequential(nn.Linear(time_dim, time_dim), nn.SiLU())
        self.block1 = DownBlock(channels, width, time_dim)
        self.block2 = DownBlock(width, width, time_dim)
        self.out = nn.Conv1d(width, channels, 1)

    def forward(self, x, t):
        freqs = torch.exp(-math.log(10000) * torch.arange(self.time_dim // 2) / self.time_dim)
        angles = t[:, None] * freqs[None]
        temb = self.time_mlp(torch.cat([angles.sin(), angles.cos()], dim=1))
        return self.out(self.block2(self.block1(x, temb), temb))


def build():
    return UNet1D()


def example_inputs():
    return (
        torch.randn(4, 2, 16),
        torch.randint(0, 100, (4,)),
    )
