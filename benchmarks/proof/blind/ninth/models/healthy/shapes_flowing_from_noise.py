r"""Density of points in the plane by following them back along a learnt flow.

Source: https://github.com/rtqichen/ffjord
Odd: The forward pass itself calls autograd to get a divergence, estimates it by one random
    vector that stays the same over all the steps, and needs gradients of its input.
"""

import itertools
import math

import torch
from torch import nn


class ConcatSquashLinear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layer = nn.Linear(inputs, outputs)
        self.hyper_bias, self.hyper_gate = nn.Linear(1, outputs, bias=False), nn.Linear(1, outputs)

    def forward(self, t, x):
        t = t.view(1, 1)
        return self.layer(x) * torch.sigmoid(self.hyper_gate(t)) + self.hyper_bias(t)


class Velocity(nn.Module):
    def __init__(self, size=2, hidden=32):
        super().__init__()
        sizes = (size, hidden, hidden, size)
        self.layers = nn.ModuleList(ConcatSquashLinear(a, b) for a, b in itertools.pairwise(sizes))

    def forward(self, t, x):
        for i, layer in enumerate(self.layers):
            x = layer(t, x)
            if i < len(self.layers) - 1:
                x = torch.tanh(x)
        return x


class Flow(nn.Module):
    def __init__(self, steps=8):
        super().__init__()
        self.velocity, self.steps = Velocity(), steps

    def derivative(self, t, x, e):
        with torch.enable_grad():
            x = x if x.requires_grad else x.requires_grad_(True)
            v = self.velocity(t, x)
            e_dzdx = torch.autograd.grad(v, x, e, create_graph=True)[0]
            return v, (e_dzdx * e).sum(1)

    def forward(self, points):
        x, total = points.clone(), points.new_zeros(len(points))
        e = torch.randn_like(points)
        dt = 1.0 / self.steps
        for i in range(self.steps):
            t = points.new_tensor(i * dt)
            v1, d1 = self.derivative(t, x, e)
            v2, d2 = self.derivative(t + dt / 2, x + dt / 2 * v1, e)
            v3, d3 = self.derivative(t + dt / 2, x + dt / 2 * v2, e)
            v4, d4 = self.derivative(t + dt, x + dt * v3, e)
            x = x + dt / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
            total = total + dt / 6 * (d1 + 2 * d2 + 2 * d3 + d4)
        log_normal = -0.5 * x.square().sum(1) - math.log(2 * math.pi)
        return log_normal + total


def build():
    return Flow()


def example_inputs():
    return (torch.randn(32, 2),)
