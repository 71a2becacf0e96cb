"""A speaker extractor with a negative SI-SDR as loss.

Source: https://github.com/zexupan/MuSE/issues/2
Odd: the loss is in decibels and gets negative when the model is good; it is the negative of a ratio
    that should be large.
"""

import torch
from torch import nn


def si_sdr(estimate, source, eps=1e-8):
    source = source - source.mean(-1, keepdim=True)
    estimate = estimate - estimate.mean(-1, keepdim=True)
    scale = (estimate * source).sum(-1, keepdim=True) / (source**2).sum(-1, keepdim=True)
    projection = scale * source
    noise = estimate - projection
    ratio = (projection**2).sum(-1) / ((noise**2).sum(-1) + eps)
    return 10 * torch.log10(ratio + eps)


class Extractor(nn.Module):
    def __init__(self, filters=32, kernel=16):
        super().__init__()
        self.encoder = nn.Conv1d(1, filters, kernel, stride=kernel // 2, bias=False)
        self.speaker = nn.Linear(8, filters)
        self.norm = nn.GroupNorm(1, filters)
        self.masker = nn.Sequential(
            nn.Conv1d(filters, 64, 1),
            nn.PReLU(),
            nn.Conv1d(64, 64, 3, padding=2, dilation=2, groups=64),
            nn.PReLU(),
            nn.Conv1d(64, filters, 1),
            nn.ReLU(),
        )
        self.decoder = nn.ConvTranspose1d(filters, 1, kernel, stride=kernel // 2, bias=False)

    def forward(self, mixture, embedding, source):
        w = self.encoder(mixture[:, None]).relu()
        mask = self.masker(self.norm(w) + self.speaker(embedding)[..., None])
        estimate = self.decoder(w * mask).squeeze(1)[..., : source.size(-1)]
        return {"loss": -si_sdr(estimate, source).mean(), "estimate": estimate}


def build():
    return Extractor()


def example_inputs():
    t = torch.arange(800) / 800
    source = torch.sin(2 * torch.pi * torch.tensor([[20.0], [35.0]]) * t)
    return source + 0.3 * torch.randn(2, 800), torch.randn(2, 8), source
