"""Appearance and structure codes; the appearance code learns from identity only.

Source: https://github.com/NVlabs/DG-Net/issues/40
Odd: the code is detached before generation, as identity losses should shape it alone.
"""

import torch
import torch.nn.functional as F
from torch import nn


class AppearanceGenerator(nn.Module):
    def __init__(self, classes=4, f=8):
        super().__init__()
        self.enc_a = nn.Sequential(
            nn.Conv2d(3, f, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1)
        )
        self.enc_s = nn.Conv2d(3, f, 3, padding=1)
        self.classifier = nn.Linear(f, classes)
        self.gen = nn.Conv2d(2 * f, 3, 3, padding=1)

    def forward(self, x, labels):
        a = self.enc_a(x)
        id_loss = F.cross_entropy(self.classifier(a.flatten(1)), labels)
        s = torch.tanh(self.enc_s(x))
        code = a.detach().expand(-1, -1, *x.shape[2:])
        recon = torch.sigmoid(self.gen(torch.cat([code, s], dim=1)))
        return {"loss": id_loss + F.l1_loss(recon, x), "recon": recon}


def example_inputs():
    return (
        torch.rand(6, 3, 8, 8),
        torch.randint(0, 4, (6,)),
    )
