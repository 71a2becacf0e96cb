"""A model that carries a moving average of itself for evaluation.

Source: https://github.com/lucidrains/ema-pytorch/issues/25
Odd: half of the weights are never trained, and the eval branch is not run in training.
"""

import copy

import torch
from torch import nn


class WithEMA(nn.Module):
    def __init__(self, dim=8, beta=0.99):
        super().__init__()
        self.online_model = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 2))
        self.ema_model = copy.deepcopy(self.online_model).requires_grad_(False)
        self.beta = beta

    @torch.no_grad()
    def update(self):
        pairs = zip(self.ema_model.parameters(), self.online_model.parameters(), strict=True)
        for ema, online in pairs:
            ema.lerp_(online, 1 - self.beta)

    def forward(self, x):
        return self.online_model(x) if self.training else self.ema_model(x)


def example_inputs():
    return (torch.randn(16, 8),)
