r"""Noise predictor with sines and cosines of the time step.

Source: https://github.com/gmongaras/Diffusion_models_from_scratch/issues/10
Fault: Sine and cosine alternate over the batch in place of the dimensions, so a sample's time is
    encoded by its place in the batch.
Cause: (batch|sample|row)\w* .*(position|order|place|even|odd|depend|mix|influence)
    |(depend|differ)\w* .*(batch|other samples?|place in)|(sin|cos)\w* .*(batch|rows?|samples?)
Place: PositionalEncoding|time_embedding|\bembeddings\b
"""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("rates", torch.exp(-math.log(10000) * torch.arange(dim) / dim))

    def forward(self, t):
        embeddings = t[:, None].float() * self.rates[None]
        embeddings[::2] = embeddings[::2].sin()  # here
        embeddings[1::2] = embeddings[1::2].cos()  # here
        return embeddings


class Denoiser(nn.Module):
    def __init__(self, width=16, dim=24):
        super().__init__()
        self.time_embedding = PositionalEncoding(dim)
        self.time = nn.Sequential(nn.Linear(dim, width), nn.GELU(), nn.Linear(width, width))
        self.inlayer = nn.Conv2d(1, width, 3, padding=1)
        self.middle = nn.Sequential(
            nn.GroupNorm(4, width), nn.GELU(), nn.Conv2d(width, width, 3, padding=1)
        )
        self.out = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        x = self.inlayer(x)
        return self.out(x + self.middle(x + self.time(self.time_embedding(t))[:, :, None, None]))


def build():
    return Denoiser()


def example_inputs():
    return torch.randn(6, 1, 12, 12), torch.randint(0, 1000, (6,))
