r"""A classifier with a multi-class focal loss on probabilities.

Source: https://github.com/mathiaszinnen/focal_loss_torch/issues/3
    https://github.com/VITA-Group/EnlightenGAN/issues/126
Fault: the logarithm is taken of a softmax probability that underflows to zero for confident
    mistakes; the loss becomes infinite and the gradients nan.
Cause: \blog\b.*\b(zero|0|softmax)\b|\beps\b|epsilon|log.?softmax|underflow|clamp
Place: p_t\b|torch.log\b
"""

import torch
import torch.nn.functional as F
from torch import nn


class FocalLoss(nn.Module):
    def __init__(self, gamma=2.0):
        super().__init__()
        self.gamma = gamma

    def forward(self, x, target):
        p = F.softmax(x, dim=1)
        p_t = p.gather(1, target[:, None]).squeeze(1)
        return (-((1 - p_t) ** self.gamma) * torch.log(p_t)).mean()  # here


class SpectraClassifier(nn.Module):
    def __init__(self, bands=40, classes=7):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(bands, 64), nn.ReLU(), nn.Linear(64, classes))
        self.criterion = FocalLoss()

    def forward(self, spectra, target):
        logits = self.body(spectra)
        return {"loss": self.criterion(logits, target), "logits": logits}


def build():
    return SpectraClassifier()


def example_inputs():
    counts = torch.randint(0, 4000, (32, 40)).float()
    return counts, torch.randint(0, 7, (32,))
