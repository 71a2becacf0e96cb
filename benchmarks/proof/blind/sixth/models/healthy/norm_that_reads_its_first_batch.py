r"""Steps of a flow with an affine norm for each channel, a mixing matrix, and a coupling.

Source: https://github.com/rosinality/glow-pytorch
Odd: The first call in training writes into parameters, from the statistics of the batch; the last
    convolution of each coupling is zero.
"""

import torch
import torch.nn.functional as F
from torch import nn


class ActNorm(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.loc = nn.Parameter(torch.zeros(1, channels, 1, 1))
        self.scale = nn.Parameter(torch.ones(1, channels, 1, 1))
        self.register_buffer("initialized", torch.tensor(0, dtype=torch.uint8))

    @torch.no_grad()
    def initialize(self, x):
        mean = x.mean((0, 2, 3), keepdim=True)
        std = x.std((0, 2, 3), keepdim=True)
        self.loc.data.copy_(-mean)
        self.scale.data.copy_(1 / (std + 1e-6))
        self.initialized.fill_(1)

    def forward(self, x):
        if self.training and self.initialized.item() == 0:
            self.initialize(x)
        log_det = x.size(2) * x.size(3) * self.scale.abs().log().sum()
        return self.scale * (x + self.loc), log_det


class Flow(nn.Module):
    def __init__(self, channels, filters=24):
        super().__init__()
        self.actnorm = ActNorm(channels)
        self.mix = nn.Parameter(torch.linalg.qr(torch.randn(channels, channels))[0])
        last = nn.Conv2d(filters, channels, 3, padding=1)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        first = nn.Conv2d(channels // 2, filters, 3, padding=1)
        self.net = nn.Sequential(first, nn.ReLU(), nn.Conv2d(filters, filters, 1), nn.ReLU(), last)

    def forward(self, x):
        x, log_det = self.actnorm(x)
        x = F.conv2d(x, self.mix[..., None, None])
        log_det = log_det + x.size(2) * x.size(3) * torch.linalg.slogdet(self.mix)[1]
        a, b = x.chunk(2, 1)
        log_s, t = self.net(a).chunk(2, 1)
        s = torch.sigmoid(log_s + 2)
        x = torch.cat([a, (b + t) * s], 1)
        return x, log_det + s.log().flatten(1).sum(1)


class Glow(nn.Module):
    def __init__(self, channels=4, steps=3):
        super().__init__()
        self.flows = nn.ModuleList(Flow(channels) for _ in range(steps))

    def forward(self, x):
        total = 0
        for flow in self.flows:
            x, log_det = flow(x)
            total = total + log_det
        return x, total


def build():
    return Glow()


def example_inputs():
    return torch.randn(6, 4, 8, 8) * 2 + 1
