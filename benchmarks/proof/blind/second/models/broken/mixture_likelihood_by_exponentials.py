r"""A mixture density network that returns its negative log-likelihood.

Source: https://github.com/mlberkeley/scae-pytorch/pull/4
Fault: the densities are exponentiated, summed and the logarithm is taken; far from all components
    the sum underflows to zero, log gives -inf and the gradients are nan.
Cause: log.?sum.?exp|underflow|overflow|\bexp\b.*\blog\b|\blog\b.*\b(zero|0)\b|log.?(space|domain)
Place: log_prob|likelihood|torch.exp
"""

import math

import torch
from torch import nn


class MDN(nn.Module):
    def __init__(self, features=5, hidden=32, components=4):
        super().__init__()
        self.hidden = nn.Sequential(nn.Linear(features, hidden), nn.Tanh())
        self.pi = nn.Linear(hidden, components)
        self.mu = nn.Linear(hidden, components)
        self.log_sigma = nn.Linear(hidden, components)

    def forward(self, x, y):
        h = self.hidden(x)
        pi = torch.softmax(self.pi(h), -1)
        mu, log_sigma = self.mu(h), self.log_sigma(h)
        z = (y - mu) * torch.exp(-log_sigma)
        log_prob = -0.5 * z.square() - log_sigma - 0.5 * math.log(2 * math.pi)
        likelihood = (pi * torch.exp(log_prob)).sum(-1)  # here
        return {"loss": -torch.log(likelihood).mean(), "mu": mu}


def example_inputs():
    x = torch.randn(40, 5)
    return x, 25 * torch.randn(40, 1)
