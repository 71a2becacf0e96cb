r"""Multi-label classification with the asymmetric loss.

Source: https://github.com/Alibaba-MIIL/ASL/pull/6
Fault: log is taken of sigmoid outputs that reach exactly 0 or 1; the infinite value times a zero
    target gives a nan loss.
Cause: \blog\w*\b.*\b(zero|0)\b|\beps\b|epsilon|saturat|underflow|logsigmoid|clamp
Place: xs_pos|xs_neg|\blog\b
"""

import torch
from torch import nn


class AsymmetricLoss(nn.Module):
    def __init__(self, gamma_neg=4, gamma_pos=1, clip=0.05):
        super().__init__()
        self.gamma_neg, self.gamma_pos, self.clip = gamma_neg, gamma_pos, clip

    def forward(self, x, y):
        xs_pos = torch.sigmoid(x)
        xs_neg = (1 - xs_pos + self.clip).clamp(max=1)
        loss = y * torch.log(xs_pos) + (1 - y) * torch.log(xs_neg)  # here
        pt = xs_pos * y + xs_neg * (1 - y)
        gamma = self.gamma_pos * y + self.gamma_neg * (1 - y)
        return -(loss * (1 - pt) ** gamma).sum()


class TagNet(nn.Module):
    def __init__(self, tags=12):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten()
        )
        self.fc = nn.Linear(256, tags)
        self.criterion = AsymmetricLoss()

    def forward(self, images, target):
        logits = self.fc(self.features(images))
        return {"loss": self.criterion(logits, target), "logits": logits}


def build():
    return TagNet()


def example_inputs():
    images = torch.randint(0, 256, (8, 3, 24, 24)).float() * 12
    return images, (torch.rand(8, 12) < 0.2).float()
