r"""Predictor of the noise in pictures of rooms at a given step of diffusion.

Source: https://github.com/openai/guided-diffusion/blob/main/guided_diffusion/unet.py
Odd: The last convolution of the network, of every residual block and of the attention start as
    zeros, so at first nothing before the last layer gets a gradient.
"""

import math

import torch
from torch import nn


def zero_module(module):
    for p in module.parameters():
        p.detach().zero_()
    return module


def timestep_embedding(steps, dim, period=10000):
    rates = torch.exp(-math.log(period) * torch.arange(dim // 2, device=steps.device) / (dim // 2))
    args = steps[:, None].float() * rates[None]
    return torch.cat([args.cos(), args.sin()], 1)


class ResBlock(nn.Module):
    def __init__(self, channels, emb, out):
        super().__init__()
        self.in_layers = nn.Sequential(
            nn.GroupNorm(8, channels), nn.SiLU(), nn.Conv2d(channels, out, 3, padding=1)
        )
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(emb, 2 * out))
        self.norm = nn.GroupNorm(8, out)
        self.out_layers = nn.Sequential(
            nn.SiLU(), nn.Dropout(0.1), zero_module(nn.Conv2d(out, out, 3, padding=1))
        )
        self.skip = nn.Identity() if channels == out else nn.Conv2d(channels, out, 1)

    def forward(self, x, emb):
        h = self.in_layers(x)
        scale, shift = self.emb_layers(emb)[:, :, None, None].chunk(2, 1)
        h = self.out_layers(self.norm(h) * (1 + scale) + shift)
        return self.skip(x) + h


class AttentionBlock(nn.Module):
    def __init__(self, channels, heads=2):
        super().__init__()
        self.heads = heads
        self.norm, self.qkv = nn.GroupNorm(8, channels), nn.Conv1d(channels, 3 * channels, 1)
        self.proj_out = zero_module(nn.Conv1d(channels, channels, 1))

    def forward(self, x):
        b, c = x.shape[:2]
        flat = x.flatten(2)
        q, k, v = self.qkv(self.norm(flat)).view(b * self.heads, -1, flat.size(2)).chunk(3, 1)
        scale = q.size(1) ** -0.25
        weight = torch.einsum("bct,bcs->bts", q * scale, k * scale).softmax(-1)
        h = torch.einsum("bts,bcs->bct", weight, v).reshape(b, c, -1)
        return (flat + self.proj_out(h)).view_as(x)


class Rooms(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        emb = 4 * channels
        self.channels = channels
        self.time_embed = nn.Sequential(nn.Linear(channels, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.first = nn.Conv2d(3, channels, 3, padding=1)
        self.down1 = ResBlock(channels, emb, channels)
        self.pool = nn.Conv2d(channels, channels, 3, 2, 1)
        self.down2 = ResBlock(channels, emb, 2 * channels)
        self.middle = AttentionBlock(2 * channels)
        self.up1 = ResBlock(4 * channels, emb, 2 * channels)
        self.grow = nn.Upsample(scale_factor=2)
        self.up2 = ResBlock(3 * channels, emb, channels)
        self.out = nn.Sequential(
            nn.GroupNorm(8, channels), nn.SiLU(), zero_module(nn.Conv2d(channels, 3, 3, padding=1))
        )

    def forward(self, x, steps):
        emb = self.time_embed(timestep_embedding(steps, self.channels))
        high = self.down1(self.first(x), emb)
        low = self.down2(self.pool(high), emb)
        h = self.up1(torch.cat([self.middle(low), low], 1), emb)
        h = self.up2(torch.cat([self.grow(h), high], 1), emb)
        return self.out(h)


def build():
    return Rooms()


def example_inputs():
    return torch.randn(2, 3, 16, 16), torch.randint(0, 1000, (2,))
