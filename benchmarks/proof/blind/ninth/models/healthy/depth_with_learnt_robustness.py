r"""Depth from one picture with a loss that learns how much to trust large errors.

Source: https://github.com/jonbarron/robust_loss_pytorch
Odd: The loss has trainable parameters of its own, kept in a range by a sigmoid and a softplus,
    and they start at zero.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class AdaptiveLoss(nn.Module):
    def __init__(self, channels, alpha_low=0.001, alpha_high=1.999, scale_low=1e-5):
        super().__init__()
        self.low, self.high, self.scale_low = alpha_low, alpha_high, scale_low
        self.latent_alpha = nn.Parameter(torch.zeros(1, channels))
        self.latent_scale = nn.Parameter(torch.zeros(1, channels))
        grid = torch.linspace(0.0, 1.0, 65) * (alpha_high - alpha_low) + alpha_low
        self.register_buffer("log_z", self.table(grid))

    @staticmethod
    def general(x, alpha):
        squared = x.square()
        beta = (alpha - 2).abs().clamp(min=1e-6)
        safe = alpha.clamp(min=1e-6)
        return beta / safe * ((squared / beta + 1) ** (0.5 * alpha) - 1)

    def table(self, grid):
        x = torch.sinh(torch.linspace(-12.0, 12.0, 4001, dtype=torch.float64))
        density = torch.exp(-self.general(x[None], grid[:, None].double()))
        return torch.trapezoid(density, x, dim=1).log().float()

    def alpha(self):
        return torch.sigmoid(self.latent_alpha) * (self.high - self.low) + self.low

    def scale(self):
        shift = math.log(math.e - 1)
        return F.softplus(self.latent_scale + shift) * (1 - self.scale_low) + self.scale_low

    def forward(self, residual):
        alpha, scale = self.alpha(), self.scale()
        place = (alpha - self.low) / (self.high - self.low) * (len(self.log_z) - 1)
        left = place.detach().floor().clamp(0, len(self.log_z) - 2).long()
        part = place - left
        log_z = (1 - part) * self.log_z[left] + part * self.log_z[left + 1]
        return (self.general(residual / scale, alpha) + scale.log() + log_z).mean()


class Depth(nn.Module):
    def __init__(self, side=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
            nn.Conv2d(32, 32, 3, 1, 1), nn.ReLU(),
        )  # fmt: skip
        self.decoder = nn.Sequential(nn.Conv2d(32, 16, 3, 1, 1), nn.ReLU(), nn.Conv2d(16, 1, 1))
        self.loss = AdaptiveLoss(side * side)

    def forward(self, picture, depth):
        guess = self.decoder(self.encoder(picture))
        return self.loss((guess - depth.log()).flatten(1))


def build():
    return Depth()


def example_inputs():
    return torch.rand(4, 3, 64, 64), 1 + 4 * torch.rand(4, 1, 16, 16)
