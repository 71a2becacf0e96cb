r"""A speech enhancer trained on the correlation of band envelopes.

Source: https://github.com/mpariente/pytorch_stoi/issues/7
    https://github.com/mpariente/pytorch_stoi/pull/14
Fault: the envelope is a square root of a band energy that is exactly zero in silence, where the
    gradient of the root is infinite; the epsilon is added after the root and does not help.
Cause: sqrt|square root|\beps\b|epsilon|zero energy|silen|root of (zero|0)
Place: envelopes|sqrt|\bEPS\b
"""

import torch
from torch import nn

EPS = 1e-8


class STOILoss(nn.Module):
    def __init__(self, bins=33, bands=8):
        super().__init__()
        matrix = torch.zeros(bands, bins)
        for band in range(bands):
            matrix[band, band * 4 : band * 4 + 4] = 1
        self.register_buffer("obm", matrix)

    def envelopes(self, spec):
        return torch.sqrt(self.obm @ spec.square()) + EPS  # here

    def forward(self, estimate, target):
        x, y = self.envelopes(estimate), self.envelopes(target)
        x, y = x - x.mean(-1, keepdim=True), y - y.mean(-1, keepdim=True)
        x = x / (x.norm(dim=-1, keepdim=True) + EPS)
        y = y / (y.norm(dim=-1, keepdim=True) + EPS)
        return -(x * y).sum(-1).mean()


class MaskNet(nn.Module):
    def __init__(self, bins=33):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(bins, 48, 3, padding=1), nn.ReLU(), nn.Conv1d(48, bins, 3, padding=1)
        )
        self.loss = STOILoss(bins)

    def forward(self, noisy, clean):
        estimate = torch.sigmoid(self.net(noisy)) * noisy
        return {"loss": self.loss(estimate, clean), "estimate": estimate}


def build():
    return MaskNet()


def example_inputs():
    clean = torch.rand(3, 33, 40)
    noisy = clean + 0.3 * torch.rand(3, 33, 40)
    noisy[1, :, 30:] = 0
    clean[1, :, 30:] = 0
    return noisy, clean
