r"""Digits read pixel by pixel through diagonal linear systems with complex states.

Source: https://github.com/state-spaces/s4/blob/main/models/s4/s4d.py
Odd: The decay is minus the exponential of a parameter and the real part is doubled, since the
    conjugate half of the states is left out; the filter is as long as the input and the product
    of spectra has twice the length.
"""

import math

import torch
from torch import nn


class DiagonalKernel(nn.Module):
    def __init__(self, d_model, states=16, dt_min=0.001, dt_max=0.1):
        super().__init__()
        span = math.log(dt_max) - math.log(dt_min)
        self.log_dt = nn.Parameter(torch.rand(d_model) * span + math.log(dt_min))
        self.C = nn.Parameter(torch.randn(d_model, states // 2, 2) * 0.5**0.5)
        self.log_A_real = nn.Parameter(torch.log(0.5 * torch.ones(d_model, states // 2)))
        self.A_imag = nn.Parameter(math.pi * torch.arange(states // 2).repeat(d_model, 1).float())

    def forward(self, length):
        dt = torch.exp(self.log_dt)
        C = torch.view_as_complex(self.C)
        A = -torch.exp(self.log_A_real) + 1j * self.A_imag
        dtA = A * dt[:, None]
        K = dtA[..., None] * torch.arange(length)
        C = C * (torch.exp(dtA) - 1.0) / A
        return 2 * torch.einsum("hn,hnl->hl", C, torch.exp(K)).real


class DiagonalLayer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.D = nn.Parameter(torch.randn(d_model))
        self.kernel = DiagonalKernel(d_model)
        self.mix = nn.Sequential(nn.Conv1d(d_model, 2 * d_model, 1), nn.GLU(dim=1))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, u):
        length = u.shape[-1]
        k = torch.fft.rfft(self.kernel(length), n=2 * length)
        y = torch.fft.irfft(torch.fft.rfft(u, n=2 * length) * k, n=2 * length)[..., :length]
        y = self.mix(nn.functional.gelu(y + u * self.D[:, None]))
        return self.norm((u + y).transpose(1, 2)).transpose(1, 2)


class PixelByPixel(nn.Module):
    def __init__(self, d_model=24, depth=3, classes=10):
        super().__init__()
        self.encoder = nn.Linear(1, d_model)
        self.layers = nn.Sequential(*[DiagonalLayer(d_model) for _ in range(depth)])
        self.decoder = nn.Linear(d_model, classes)

    def forward(self, x):
        x = self.layers(self.encoder(x).transpose(1, 2))
        return self.decoder(x.mean(-1))


def build():
    return PixelByPixel()


def example_inputs():
    return (torch.rand(4, 100, 1),)
