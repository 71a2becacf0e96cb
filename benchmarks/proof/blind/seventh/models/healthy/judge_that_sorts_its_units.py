r"""Critic with a bounded slope: orthonormal weights and pairs of units that are sorted.

Source: https://github.com/cemanil/LNets
Odd: There is no ReLU; each pair of units is put in order, which keeps the length of the gradient;
    the weights are made orthonormal by a short iteration in each call.
"""

import torch
from torch import nn


class OrthonormalLinear(nn.Module):
    def __init__(self, inputs, outputs, steps=12):
        super().__init__()
        self.steps = steps
        self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.orthogonal_(self.weight)
        with torch.no_grad():
            self.weight.mul_(0.9).add_(0.02 * torch.randn_like(self.weight))

    def orthonormal(self):
        w = self.weight / (self.weight.abs().sum(1).max() * self.weight.abs().sum(0).max()).sqrt()
        for _ in range(self.steps):
            w = 1.5 * w - 0.5 * w @ w.T @ w
        return w

    def forward(self, x):
        return nn.functional.linear(x, self.orthonormal(), self.bias)


class SortPairs(nn.Module):
    def forward(self, x):
        a, b = x.view(*x.shape[:-1], -1, 2).unbind(-1)
        return torch.cat([torch.maximum(a, b), torch.minimum(a, b)], dim=-1)


class SortingJudge(nn.Module):
    def __init__(self, inputs=32, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            OrthonormalLinear(inputs, hidden),
            SortPairs(),
            OrthonormalLinear(hidden, hidden),
            SortPairs(),
            OrthonormalLinear(hidden, hidden),
            SortPairs(),
            OrthonormalLinear(hidden, 1),
        )

    def forward(self, real, fake):
        return self.net(real).squeeze(1), self.net(fake).squeeze(1)


def build():
    return SortingJudge()


def example_inputs():
    return torch.randn(8, 32) + 0.5, torch.randn(8, 32)
