r"""Skin picture classifier that returns its loss, with more weight on rare and hard classes.

Source: https://github.com/gokulprasadthekkel/pytorch-multi-class-focal-loss/issues/1
Fault: The probability in the focal factor is computed from the weighted and already averaged
    cross entropy, so it is one number for the batch and no probability of the true class.
Cause: (reduc\w*|averag\w*|mean|scalar|one number|batch).{0,140}(pt\b|focal|probabilit\w*
    |factor|exp\w*|sample|example|before)|(pt\b|probabilit\w*|focal|factor).{0,140}(weight\w*
    |reduc\w*|averag\w*|mean|scalar|per.?(sample|example)|each (sample|example)|whole batch
    |single)|class.?weight\w*.{0,100}(pt\b|probabilit\w*|exp\w*|focal)
Place: ce_loss|\bpt\b|reduction|weight|focal\w*|forward
"""

import torch
import torch.nn.functional as F
from torch import nn


class FocalLoss(nn.Module):
    def __init__(self, weight=None, gamma=2.0, reduction="mean"):
        super().__init__()
        self.register_buffer("weight", weight)
        self.gamma, self.reduction = gamma, reduction

    def forward(self, scores, target):
        ce_loss = F.cross_entropy(scores, target, self.weight, reduction=self.reduction)  # here
        pt = torch.exp(-ce_loss)  # here
        return ((1 - pt) ** self.gamma * ce_loss).mean()


def unit(inputs, outputs, stride):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(inplace=True),
    )


class SkinPictures(nn.Module):
    def __init__(self, classes=7):
        super().__init__()
        self.features = nn.Sequential(unit(3, 16, 2), unit(16, 32, 2), unit(32, 64, 2))
        self.drop = nn.Dropout(0.3)
        self.classifier = nn.Linear(64, classes)
        counts = torch.tensor([1113.0, 6705.0, 514.0, 327.0, 1099.0, 115.0, 142.0])
        self.loss = FocalLoss(weight=counts.sum() / (classes * counts))

    def forward(self, x, target):
        x = self.features(x).mean((2, 3))
        return self.loss(self.classifier(self.drop(x)), target)


def build():
    return SkinPictures()


def example_inputs():
    return torch.rand(14, 3, 32, 32), torch.arange(14) % 7
