r"""Tells worn gears from their noise, with self-normalising convolutions and alpha dropout.

Source: https://docs.pytorch.org/docs/stable/nn.functional.html
Fault: F.feature_alpha_dropout has training=False as its default, and the module's mode is not
    passed on, so nothing is ever dropped and the dropout is without effect in training.
Cause: dropout.{0,120}(training|mode|never|no effect|inactive|nothing|default|not active|off\b
    |does not|identity|disabled|switched off)
    |training.{0,60}(False|default|not passed|missing|argument|flag)
    |never drops?
Place: feature_alpha_dropout|alpha_dropout|dropout|drop|training
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

SAMPLES, KINDS = 128, 4


class GearNoise(nn.Module):
    def __init__(self, channels=24, drop=0.2):
        super().__init__()
        self.drop = drop
        self.conv1 = nn.Conv1d(1, channels, 9, stride=2, padding=4)
        self.conv2 = nn.Conv1d(channels, channels, 7, stride=2, padding=3)
        self.conv3 = nn.Conv1d(channels, channels, 5, stride=2, padding=2)
        self.out = nn.Linear(channels, KINDS)
        for module in self.modules():
            if isinstance(module, (nn.Conv1d, nn.Linear)):
                nn.init.kaiming_normal_(module.weight, nonlinearity="linear")
                nn.init.zeros_(module.bias)

    def forward(self, noise):
        h = F.selu(self.conv1(noise))
        h = F.feature_alpha_dropout(h, self.drop)  # here
        h = F.selu(self.conv2(h))
        h = F.feature_alpha_dropout(h, self.drop)  # here
        h = F.selu(self.conv3(h))
        return self.out(h.abs().mean(-1))


def make_noise(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, KINDS, (n,), generator=g)
    t = torch.linspace(0, 1, SAMPLES)
    tone = torch.sin(2 * math.pi * (6 + 8 * kind.view(-1, 1)) * t)
    noise = tone + 0.5 * torch.randn(n, SAMPLES, generator=g)
    return noise.unsqueeze(1), kind


def build():
    torch.manual_seed(0)
    return GearNoise()


def example_inputs():
    return (make_noise(32, seed=8)[0],)
