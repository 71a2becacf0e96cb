r"""Denoiser of a diffusion model in which no layer may change the size of its signals.

Source: https://github.com/NVlabs/edm2/blob/main/training/networks_edm2.py
Odd: In training the weights are set to length one in place and outside of the graph, and again
    within it; there are no biases and no group norms; the gain of the output starts at zero.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def normalize(x, eps=1e-4):
    dims = tuple(range(1, x.dim()))
    norm = torch.linalg.vector_norm(x, dim=dims, keepdim=True)
    return x / (eps + norm * math.sqrt(norm.numel() / x.numel()))


def mp_silu(x):
    return F.silu(x) / 0.596


def mp_sum(a, b, t=0.3):
    return a.lerp(b, t) / math.sqrt((1 - t) ** 2 + t**2)


class MPConv(nn.Module):
    def __init__(self, cin, cout, kernel=()):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(cout, cin, *kernel))

    def forward(self, x, gain=1.0):
        if self.training:
            with torch.no_grad():
                self.weight.copy_(normalize(self.weight))
        w = normalize(self.weight) * (gain / math.sqrt(self.weight[0].numel()))
        if w.dim() == 2:
            return x @ w.T
        return F.conv2d(x, w, padding=w.shape[-1] // 2)


class Block(nn.Module):
    def __init__(self, width, emb):
        super().__init__()
        self.conv0, self.conv1 = MPConv(width, width, (3, 3)), MPConv(width, width, (3, 3))
        self.emb_linear = MPConv(emb, width)
        self.emb_gain = nn.Parameter(torch.zeros([]))

    def forward(self, x, emb):
        norm = torch.linalg.vector_norm(x, dim=1, keepdim=True) / math.sqrt(x.shape[1])
        x = x / (1e-4 + norm)
        y = self.conv0(mp_silu(x))
        c = self.emb_linear(emb, gain=self.emb_gain) + 1
        y = self.conv1(mp_silu(y * c[..., None, None]))
        return mp_sum(x, y)


class KeptMagnitudes(nn.Module):
    def __init__(self, channels=3, width=24, emb=32, depth=3, sigma_data=0.5):
        super().__init__()
        self.sigma_data = sigma_data
        self.register_buffer("freqs", 2 * math.pi * torch.randn(emb))
        self.register_buffer("phases", 2 * math.pi * torch.rand(emb))
        self.emb_noise = MPConv(emb, emb)
        self.in_conv = MPConv(channels + 1, width, (3, 3))
        self.blocks = nn.ModuleList(Block(width, emb) for _ in range(depth))
        self.out_conv = MPConv(width, channels, (3, 3))
        self.out_gain = nn.Parameter(torch.zeros([]))

    def forward(self, x, sigma):
        s = sigma[:, None, None, None]
        total = (s**2 + self.sigma_data**2).sqrt()
        fourier = (sigma.log()[:, None] / 4 * self.freqs + self.phases).cos() * math.sqrt(2)
        emb = mp_silu(self.emb_noise(fourier))
        y = torch.cat([x / total, torch.ones_like(x[:, :1])], dim=1)
        y = self.in_conv(y)
        for block in self.blocks:
            y = block(y, emb)
        y = self.out_conv(y, gain=self.out_gain)
        return x * (self.sigma_data / total) ** 2 + y * s * self.sigma_data / total


def build():
    return KeptMagnitudes()


def example_inputs():
    sigma = (1.2 * torch.randn(4) - 0.4).exp()
    clean = 0.5 * torch.randn(4, 3, 16, 16)
    return clean + sigma[:, None, None, None] * torch.randn_like(clean), sigma
