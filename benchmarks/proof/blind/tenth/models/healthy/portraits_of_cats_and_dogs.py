r"""Turns portraits of cats into dogs and back, with a style code that scales each channel.

Source: https://github.com/clovaai/stargan-v2/issues/32
Odd: The normalised features are scaled by one plus gamma, the instance norm has no weights of its
    own, and the sum of the two branches is divided by the root of two.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class AdaIN(nn.Module):
    def __init__(self, style_dim, num_features):
        super().__init__()
        self.norm = nn.InstanceNorm2d(num_features, affine=False)
        self.fc = nn.Linear(style_dim, num_features * 2)

    def forward(self, x, s):
        gamma, beta = self.fc(s)[:, :, None, None].chunk(2, dim=1)
        return (1 + gamma) * self.norm(x) + beta


class StyledBlock(nn.Module):
    def __init__(self, dim_in, dim_out, style_dim, upsample):
        super().__init__()
        self.upsample = upsample
        self.conv1 = nn.Conv2d(dim_in, dim_out, 3, 1, 1)
        self.conv2 = nn.Conv2d(dim_out, dim_out, 3, 1, 1)
        self.norm1, self.norm2 = AdaIN(style_dim, dim_in), AdaIN(style_dim, dim_out)
        self.conv1x1 = nn.Conv2d(dim_in, dim_out, 1, bias=False) if dim_in != dim_out else None

    def shortcut(self, x):
        if self.upsample:
            x = F.interpolate(x, scale_factor=2, mode="nearest")
        return x if self.conv1x1 is None else self.conv1x1(x)

    def forward(self, x, s):
        y = F.leaky_relu(self.norm1(x, s), 0.2)
        if self.upsample:
            y = F.interpolate(y, scale_factor=2, mode="nearest")
        y = F.leaky_relu(self.norm2(self.conv1(y), s), 0.2)
        return (self.conv2(y) + self.shortcut(x)) / math.sqrt(2)


class PortraitTranslator(nn.Module):
    def __init__(self, width=16, latent=8, style_dim=12, kinds=2):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Conv2d(3, width, 3, 1, 1),
            nn.InstanceNorm2d(width, affine=True),
            nn.LeakyReLU(0.2),
            nn.Conv2d(width, 2 * width, 4, 2, 1),
            nn.InstanceNorm2d(2 * width, affine=True),
            nn.LeakyReLU(0.2),
        )
        self.decode = nn.ModuleList(
            (
                StyledBlock(2 * width, 2 * width, style_dim, False),
                StyledBlock(2 * width, width, style_dim, True),
            )
        )
        self.to_rgb = nn.Sequential(nn.LeakyReLU(0.2), nn.Conv2d(width, 3, 1))
        self.shared = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.unshared = nn.ModuleList(nn.Linear(32, style_dim) for _ in range(kinds))

    def forward(self, x, z, kind):
        h = self.shared(z)
        s = torch.stack([layer(h) for layer in self.unshared], 1)
        s = s[torch.arange(len(kind), device=kind.device), kind]
        x = self.encode(x)
        for block in self.decode:
            x = block(x, s)
        return self.to_rgb(x)


def build():
    return PortraitTranslator()


def example_inputs():
    return 2 * torch.rand(4, 3, 24, 24) - 1, torch.randn(4, 8), torch.tensor([0, 1, 1, 0])
