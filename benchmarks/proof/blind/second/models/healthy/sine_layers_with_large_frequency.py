"""An implicit image with sine activations.

Source: https://github.com/vsitzmann/siren/blob/master/modules.py
Odd: the inputs of the sines are multiplied by 30 and the weights are drawn from a tiny interval;
    both belong together and keep the activations in range.
"""

import math

import torch
from torch import nn


class SineLayer(nn.Module):
    def __init__(self, i, o, is_first=False, omega_0=30.0):
        super().__init__()
        self.omega_0 = omega_0
        self.linear = nn.Linear(i, o)
        bound = 1 / i if is_first else math.sqrt(6 / i) / omega_0
        nn.init.uniform_(self.linear.weight, -bound, bound)

    def forward(self, x):
        return torch.sin(self.omega_0 * self.linear(x))


class Siren(nn.Module):
    def __init__(self, hidden=48, layers=3):
        super().__init__()
        self.net = nn.Sequential(
            SineLayer(2, hidden, is_first=True), *(SineLayer(hidden, hidden) for _ in range(layers))
        )
        self.final = nn.Linear(hidden, 1)
        bound = math.sqrt(6 / hidden) / 30
        nn.init.uniform_(self.final.weight, -bound, bound)

    def forward(self, coords):
        return self.final(self.net(coords))


def build():
    return Siren()


def example_inputs():
    return (torch.rand(400, 2) * 2 - 1,)
