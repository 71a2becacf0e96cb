r"""Alignment of the entities of two knowledge graphs from several kinds of features.

Source: https://github.com/sutaoyu/IBMEA/issues/2
Fault: The standard deviation, already an exponential, is handed to a divergence that expects
    its logarithm, so the exponential is taken twice.
Cause: (exp\w*|exponential).{0,80}(twice|double|two times|second|again|already)
    |double.{0,20}exp|(std|deviation|sigma).{0,120}(log\w*|expect\w*|instead of
    |exponentiat\w+)|(log\w*).{0,100}(expect\w*|instead|std|deviation|pass\w*)
Place: std\w*|log\w*|divergence|\bkl\w*|sigma\w*|forward
"""

import torch
from torch import nn


def divergence(mean, log_sigma):
    return 0.5 * (mean.square() + (2 * log_sigma).exp() - 1 - 2 * log_sigma).sum(1)


class Bottleneck(nn.Module):
    def __init__(self, inputs, size):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, size), nn.ReLU())
        self.mean, self.logvar = nn.Linear(size, size), nn.Linear(size, size)

    def forward(self, x):
        x = self.body(x)
        mean, logvar = self.mean(x), self.logvar(x)
        std = torch.exp(0.5 * logvar)
        z = mean + std * torch.randn_like(std) if self.training else mean
        return z, divergence(mean, std)  # here


class Alignment(nn.Module):
    def __init__(self, relations=40, attributes=60, pictures=96, size=32, beta=1e-3):
        super().__init__()
        self.beta = beta
        sizes = {"relation": relations, "attribute": attributes, "picture": pictures}
        self.parts = nn.ModuleDict({k: Bottleneck(n, size) for k, n in sizes.items()})
        self.weight = nn.Parameter(torch.ones(3))

    def embed(self, features):
        codes, total = [], 0
        for weight, part, x in zip(self.weight.softmax(0), self.parts.values(), features):
            z, kl = part(x)
            codes.append(weight * nn.functional.normalize(z, dim=1))
            total = total + kl.mean()
        return torch.cat(codes, 1), total

    def forward(self, *features):
        left, kl_left = self.embed(features[:3])
        right, kl_right = self.embed(features[3:])
        scores = left @ right.t() / 0.1
        same = torch.arange(len(left))
        loss = nn.functional.cross_entropy(scores, same)
        loss = loss + nn.functional.cross_entropy(scores.t(), same)
        return loss + self.beta * (kl_left + kl_right)


def build():
    return Alignment()


def example_inputs():
    return tuple(torch.randn(12, n) for n in (40, 60, 96, 40, 60, 96))
