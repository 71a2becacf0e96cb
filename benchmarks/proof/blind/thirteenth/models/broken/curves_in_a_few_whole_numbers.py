r"""Packs measured curves into a few whole numbers and draws them again.

Source: https://github.com/Justin-Tan/generative-compression/issues/51
Fault: torch.round has a gradient of zero everywhere, and nothing carries the gradient past it, so
    the encoder is never trained.
Cause: \bround.{0,100}(gradient|deriv|differentiab|constant|step|straight|zero)
    |(gradient|differentiab).{0,100}\bround
    |straight[- ]through|(quanti[sz]).{0,80}(gradient|differentiab|zero|straight)
Place: round|encoder|whole|code
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

POINTS, NUMBERS = 32, 4


class CurvePacker(nn.Module):
    def __init__(self, numbers=NUMBERS, levels=8, hidden=64):
        super().__init__()
        self.levels = levels
        self.encoder = nn.Sequential(
            nn.Linear(POINTS, hidden), nn.ReLU(),
            nn.Linear(hidden, numbers),
        )
        self.decoder = nn.Sequential(
            nn.Linear(numbers, hidden), nn.ReLU(),
            nn.Linear(hidden, POINTS),
        )

    def pack(self, curve):
        code = self.levels * torch.tanh(self.encoder(curve))
        return torch.round(code)  # here

    def forward(self, curve):
        whole = self.pack(curve)
        return F.mse_loss(self.decoder(whole / self.levels), curve)


def make_curves(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, POINTS)
    height = 0.5 + torch.rand(n, 1, generator=g)
    centre = 0.2 + 0.6 * torch.rand(n, 1, generator=g)
    slope = torch.randn(n, 1, generator=g)
    curve = height * torch.exp(-((t - centre) / 0.12) ** 2) + slope * (t - 0.5)
    return curve + 0.02 * torch.sin(2 * math.pi * 9 * t)


def build():
    torch.manual_seed(0)
    return CurvePacker()


def example_inputs():
    return (make_curves(128, seed=56),)
