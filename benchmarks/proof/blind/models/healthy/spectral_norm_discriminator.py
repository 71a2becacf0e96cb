"""A discriminator with spectral norm on all layers.

Source: https://github.com/pytorch/pytorch/pull/13352
Odd: the vectors of the power iteration change in each forward and have no gradient.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SNDiscriminator(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        sn = nn.utils.parametrizations.spectral_norm
        self.conv1 = sn(nn.Conv2d(3, width, 3, 2, 1))
        self.conv2 = sn(nn.Conv2d(width, 2 * width, 3, 2, 1))
        self.fc = sn(nn.Linear(2 * width, 1))

    def score(self, x):
        h = F.leaky_relu(self.conv1(x), 0.1)
        return self.fc(F.leaky_relu(self.conv2(h), 0.1).sum((2, 3)))

    def forward(self, real, fake):
        loss = F.relu(1 - self.score(real)).mean() + F.relu(1 + self.score(fake)).mean()
        return {"loss": loss}


def example_inputs():
    return (
        torch.randn(8, 3, 8, 8),
        torch.randn(8, 3, 8, 8) + 1,
    )
