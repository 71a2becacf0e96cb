r"""Learns the grey value of a woven cloth as a function of the place on it.

Source: https://github.com/PantoMatrix/PantoMatrix/issues/52
Fault: nn.LeakyReLU(True) sets the negative slope to 1 (not inplace), which makes the activation
    the identity, so the whole network is one linear map and cannot draw the pattern.
Cause: (negative[_ ]slope|slope).{0,60}(\b1\b|1\.0|one|True|identity|linear)
    |LeakyReLU.{0,80}(identity|linear|True|slope|inplace|in place|nothing)
    |(activation|non-?linearit).{0,80}(identity|linear|no effect|does nothing|missing)
    |(identity|no non-?linearity|purely linear|one linear|only linear|is linear|affine)
Place: LeakyReLU|negative_slope|act|layers|net|stage
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ClothField(nn.Module):
    def __init__(self, hidden=64, depth=3):
        super().__init__()
        width = 2
        layers = []
        for _ in range(depth):
            layers += [nn.Linear(width, hidden), nn.LeakyReLU(True)]  # here
            width = hidden
        self.net = nn.Sequential(*layers)
        self.grey = nn.Linear(hidden, 1)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="leaky_relu")
                nn.init.zeros_(module.bias)

    def forward(self, place, grey):
        return F.mse_loss(self.grey(self.net(place)), grey)


def cloth(place):
    warp = torch.sin(2 * math.pi * place[:, 0])
    weft = torch.sin(2 * math.pi * place[:, 1])
    return (warp * weft).unsqueeze(-1)


def make_places(n, seed):
    g = torch.Generator().manual_seed(seed)
    place = torch.rand(n, 2, generator=g) * 2 - 1
    return place, cloth(place)


def build():
    torch.manual_seed(0)
    return ClothField()


def example_inputs():
    return make_places(256, seed=4)
