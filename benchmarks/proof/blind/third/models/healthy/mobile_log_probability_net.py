r"""Small inverted-residual classifier that computes its loss from log-probabilities.

Source: https://github.com/Randl/MobileNetV2-pytorch/issues/5
Odd: log_softmax goes into cross_entropy, which takes log_softmax again; it is idempotent, so the
    loss and the gradients are those of the plain scores.
"""

import torch
import torch.nn.functional as F
from torch import nn


class InvertedResidual(nn.Module):
    def __init__(self, width, expand=3):
        super().__init__()
        hidden = width * expand
        self.block = nn.Sequential(
            nn.Conv2d(width, hidden, 1, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, hidden, 3, padding=1, groups=hidden, bias=False),
            nn.BatchNorm2d(hidden),
            nn.ReLU6(inplace=True),
            nn.Conv2d(hidden, width, 1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x):
        return x + self.block(x)


class MobileNet(nn.Module):
    def __init__(self, classes=7):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.blocks = nn.Sequential(InvertedResidual(8), InvertedResidual(8))
        self.fc = nn.Linear(8, classes)

    def forward(self, x, labels):
        x = self.blocks(self.stem(x)).mean(dim=(2, 3))
        return F.cross_entropy(F.log_softmax(self.fc(x), dim=1), labels)


def build():
    return MobileNet()


def example_inputs():
    return torch.randn(5, 3, 16, 16), torch.randint(0, 7, (5,))
