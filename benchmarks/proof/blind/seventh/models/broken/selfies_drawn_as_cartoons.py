r"""Generator that draws a selfie as a cartoon, with attention and adaptive normalisation.

Source: https://github.com/znxlwm/UGATIT-pytorch/issues/32
Fault: The adaptive block is meant as a residual block but returns its branch without the input.
Cause: (skip|residual|shortcut|identity).{0,100}(miss|absent|lack|forg|not added|never added
    |without|\bno\b|dropped|lost|omit|n't)
    |(miss\w*|\bno|without|forg\w*|lack\w*|omit\w*|lost).{0,40}(skip|residual|shortcut|identity
    |addition|add)
    |input.{0,40}(not|never) added
Place: \bout\b|AdaptiveBlock|ResnetAdaILNBlock|\bblocks?\b|residual
"""

import torch
from torch import nn


class AdaILN(nn.Module):
    def __init__(self, channels, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.rho = nn.Parameter(torch.full((1, channels, 1, 1), 0.9))

    def forward(self, x, gamma, beta):
        mean, var = x.mean((2, 3), True), x.var((2, 3), keepdim=True)
        out_in = (x - mean) / (var + self.eps).sqrt()
        mean, var = x.mean((1, 2, 3), True), x.var((1, 2, 3), keepdim=True)
        out_ln = (x - mean) / (var + self.eps).sqrt()
        rho = self.rho.clamp(0, 1)
        out = rho * out_in + (1 - rho) * out_ln
        return out * gamma[:, :, None, None] + beta[:, :, None, None]


class AdaptiveBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.pad = nn.ReflectionPad2d(1)
        self.conv1 = nn.Conv2d(dim, dim, 3, bias=False)
        self.norm1, self.relu = AdaILN(dim), nn.ReLU()
        self.conv2 = nn.Conv2d(dim, dim, 3, bias=False)
        self.norm2 = AdaILN(dim)

    def forward(self, x, gamma, beta):
        out = self.relu(self.norm1(self.conv1(self.pad(x)), gamma, beta))
        out = self.norm2(self.conv2(self.pad(out)), gamma, beta)
        return out  # here


class Cartoonist(nn.Module):
    def __init__(self, width=12, blocks=4):
        super().__init__()
        dim = 2 * width
        self.down = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, bias=False),
            nn.InstanceNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, dim, 3, stride=2, padding=1, bias=False),
            nn.InstanceNorm2d(dim),
            nn.ReLU(),
        )
        self.gap_fc = nn.Linear(dim, 1, bias=False)
        self.conv1x1 = nn.Conv2d(dim, dim, 1)
        self.fc = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.gamma, self.beta = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.blocks = nn.ModuleList(AdaptiveBlock(dim) for _ in range(blocks))
        self.up = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.Conv2d(dim, width, 3, padding=1), nn.ReLU()
        )
        self.paint = nn.Sequential(nn.Conv2d(width, 3, 3, padding=1), nn.Tanh())

    def forward(self, selfie):
        x = self.down(selfie)
        cam = self.gap_fc(x.amax((2, 3)))
        x = torch.relu(self.conv1x1(x * self.gap_fc.weight[0][:, None, None]))
        code = self.fc(x.mean((2, 3)))
        gamma, beta = self.gamma(code), self.beta(code)
        for block in self.blocks:
            x = block(x, gamma, beta)
        return self.paint(self.up(x)), cam


def build():
    return Cartoonist()


def example_inputs():
    return (2 * torch.rand(4, 3, 24, 24) - 1,)
