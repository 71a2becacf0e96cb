r"""Density of the causes behind a measurement, by invertible coupling steps.

Source: https://github.com/vislearn/FrEIA/pull/6
Odd: The mean of the squares over all entries is halved and the mean of the log-determinants is
    divided by the number of dimensions; the scales pass through an arctangent, and the shuffles
    between the steps are fixed buffers.
"""

import math

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, dims, hidden=48, clamp=2.0):
        super().__init__()
        self.split, self.clamp = dims // 2, clamp
        rest = dims - self.split
        self.net1 = self.subnet(self.split, 2 * rest, hidden)
        self.net2 = self.subnet(rest, 2 * self.split, hidden)
        self.register_buffer("order", torch.randperm(dims))

    @staticmethod
    def subnet(inputs, outputs, hidden):
        net = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
        nn.init.zeros_(net[-1].weight)
        nn.init.zeros_(net[-1].bias)
        return net

    def log_scale(self, s):
        return self.clamp * 0.636 * torch.atan(s / self.clamp)

    def forward(self, x):
        x1, x2 = x[:, : self.split], x[:, self.split :]
        s2, t2 = self.net1(x1).chunk(2, 1)
        s2 = self.log_scale(s2)
        y2 = x2 * s2.exp() + t2
        s1, t1 = self.net2(y2).chunk(2, 1)
        s1 = self.log_scale(s1)
        y1 = x1 * s1.exp() + t1
        y = torch.cat((y1, y2), 1)[:, self.order]
        return y, s1.sum(1) + s2.sum(1)


class CauseDensity(nn.Module):
    def __init__(self, dims=7, steps=5):
        super().__init__()
        self.dims = dims
        self.steps = nn.ModuleList(Coupling(dims) for _ in range(steps))

    def forward(self, x):
        z, log_jac = x, x.new_zeros(len(x))
        for step in self.steps:
            z, jac = step(z)
            log_jac = log_jac + jac
        nll = torch.mean(z**2) / 2 - torch.mean(log_jac) / self.dims
        return z, nll + 0.5 * math.log(2 * math.pi)


def build():
    return CauseDensity()


def example_inputs():
    return (torch.randn(32, 7) * 1.5 + 0.5,)
