r"""Translator of animal portraits between domains with a style per domain.

Source: https://github.com/clovaai/stargan-v2/blob/master/core/model.py
Odd: Sums of two paths are divided by the root of two, the adaptive norm scales by one plus its
    output, and only the branch of the wanted domain is read.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class AdaIN(nn.Module):
    def __init__(self, style, features):
        super().__init__()
        self.norm, self.fc = nn.InstanceNorm2d(features), nn.Linear(style, 2 * features)

    def forward(self, x, s):
        gamma, beta = self.fc(s)[:, :, None, None].chunk(2, 1)
        return (1 + gamma) * self.norm(x) + beta


class ResBlk(nn.Module):
    def __init__(self, inputs, outputs, normalize=False, down=False):
        super().__init__()
        self.down = down
        self.conv1 = nn.Conv2d(inputs, inputs, 3, 1, 1)
        self.conv2 = nn.Conv2d(inputs, outputs, 3, 1, 1)
        self.norm1 = nn.InstanceNorm2d(inputs, affine=True) if normalize else nn.Identity()
        self.norm2 = nn.InstanceNorm2d(inputs, affine=True) if normalize else nn.Identity()
        self.shortcut = nn.Identity()
        if inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, x):
        skip, x = self.shortcut(x), self.conv1(F.leaky_relu(self.norm1(x), 0.2))
        if self.down:
            skip, x = F.avg_pool2d(skip, 2), F.avg_pool2d(x, 2)
        x = self.conv2(F.leaky_relu(self.norm2(x), 0.2))
        return (x + skip) / math.sqrt(2)


class AdainResBlk(nn.Module):
    def __init__(self, inputs, outputs, style, up=False):
        super().__init__()
        self.up = up
        self.conv1 = nn.Conv2d(inputs, outputs, 3, 1, 1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.norm1, self.norm2 = AdaIN(style, inputs), AdaIN(style, outputs)
        self.shortcut = nn.Identity()
        if inputs != outputs:
            self.shortcut = nn.Conv2d(inputs, outputs, 1, bias=False)

    def grown(self, x):
        return F.interpolate(x, scale_factor=2, mode="nearest") if self.up else x

    def forward(self, x, s):
        skip = self.shortcut(self.grown(x))
        x = self.conv1(self.grown(F.leaky_relu(self.norm1(x, s), 0.2)))
        x = self.conv2(F.leaky_relu(self.norm2(x, s), 0.2))
        return (x + skip) / math.sqrt(2)


class Animals(nn.Module):
    def __init__(self, dim=12, style=16, domains=3, latent=8):
        super().__init__()
        self.from_rgb = nn.Conv2d(3, dim, 3, 1, 1)
        self.encode = nn.Sequential(
            ResBlk(dim, 2 * dim, True, True), ResBlk(2 * dim, 4 * dim, True, True),
            ResBlk(4 * dim, 4 * dim, True),
        )  # fmt: skip
        self.decode = nn.ModuleList([
            AdainResBlk(4 * dim, 4 * dim, style), AdainResBlk(4 * dim, 2 * dim, style, True),
            AdainResBlk(2 * dim, dim, style, True),
        ])  # fmt: skip
        self.to_rgb = nn.Sequential(
            nn.InstanceNorm2d(dim, affine=True), nn.LeakyReLU(0.2), nn.Conv2d(dim, 3, 1)
        )
        self.shared = nn.Sequential(nn.Linear(latent, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.unshared = nn.ModuleList(
            nn.Sequential(nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, style))
            for _ in range(domains)
        )

    def style(self, z, domain):
        h = self.shared(z)
        styles = torch.stack([branch(h) for branch in self.unshared], 1)
        return styles[torch.arange(len(domain), device=domain.device), domain]

    def forward(self, x, z, domain):
        s = self.style(z, domain)
        x = self.encode(self.from_rgb(x))
        for block in self.decode:
            x = block(x, s)
        return self.to_rgb(x)


def build():
    return Animals()


def example_inputs():
    return torch.rand(4, 3, 32, 32) * 2 - 1, torch.randn(4, 8), torch.tensor([0, 1, 2, 1])
