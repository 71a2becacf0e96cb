r"""Pair of networks for the dual potentials of regularised optimal transport.

Source: https://github.com/mikigom/large-scale-OT-mapping-TF/issues/1
Fault: A potential may have any sign, but a ReLU after the last layer cuts all negative values.
Cause: relu|(no|never|not|cut\w*|without|any) .*negative|negative .*(value|output|cut|lost)
    |non-?negative|(last|final) activation
Place: \b[uv]\.net\.7\b
"""

import torch
from torch import nn


class Potential(nn.Module):
    def __init__(self, dim, width=64):
        super().__init__()
        layers = []
        for size in (dim, width, width):
            layers += [nn.Linear(size, width), nn.ReLU()]
        layers += [nn.Linear(width, 1), nn.ReLU()]  # here
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x).squeeze(-1)


class TransportDual(nn.Module):
    """Value of the dual: mean of u and v less the penalty of violated constraints."""

    def __init__(self, dim=2, eps=0.5):
        super().__init__()
        self.u = Potential(dim)
        self.v = Potential(dim)
        self.eps = eps

    def forward(self, source, target):
        u, v = self.u(source), self.v(target)
        cost = torch.cdist(source, target).square()
        excess = (u[:, None] + v[None, :] - cost).clamp(min=0)
        return u.mean() + v.mean() - excess.square().mean() / (4 * self.eps)


def build():
    return TransportDual()


def example_inputs():
    return torch.randn(24, 2), torch.randn(24, 2) * 0.5 + 2
