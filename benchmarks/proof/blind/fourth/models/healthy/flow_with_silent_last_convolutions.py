r"""Normalising flow on feature maps for the detection of anomalies.

Source: https://github.com/gathierry/FastFlow/issues/18
Odd: The last convolution of each coupling is zero, so the flow begins as a permutation; constants
    of the likelihood are left out and the loss becomes negative.
"""

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, channels, kernel):
        super().__init__()
        half = channels // 2
        self.subnet = nn.Sequential(
            nn.Conv2d(half, 32, kernel, padding="same"),
            nn.ReLU(),
            nn.Conv2d(32, channels, kernel, padding="same"),
        )
        nn.init.zeros_(self.subnet[-1].weight)
        nn.init.zeros_(self.subnet[-1].bias)
        self.register_buffer("order", torch.randperm(channels))

    def forward(self, x):
        a, b = x[:, self.order].chunk(2, 1)
        scale, shift = self.subnet(a).chunk(2, 1)
        scale = 1.9 * torch.tanh(scale)
        return torch.cat([a, b * scale.exp() + shift], 1), scale.flatten(1).sum(1)


class FastFlow(nn.Module):
    def __init__(self, channels=12, steps=4):
        super().__init__()
        self.flow = nn.ModuleList(Coupling(channels, 3 if i % 2 else 1) for i in range(steps))

    def forward(self, features):
        log_jac = 0
        for step in self.flow:
            features, jac = step(features)
            log_jac = log_jac + jac
        return (0.5 * features.square().flatten(1).sum(1) - log_jac).mean()


def build():
    return FastFlow()


def example_inputs():
    return torch.randn(6, 12, 8, 8) * 0.5
