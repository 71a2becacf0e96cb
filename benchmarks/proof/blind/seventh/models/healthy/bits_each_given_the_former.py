r"""Density of binary vectors by one network with masked weights.

Source: https://github.com/karpathy/pytorch-made/blob/master/made.py
Odd: The masks remove many weights for good, and the first bit of the order depends on no input,
    only on a bias; that is the factorisation.
"""

import torch
import torch.nn.functional as F
from torch import nn


class MaskedLinear(nn.Linear):
    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        self.register_buffer("mask", torch.ones(outputs, inputs))

    def set_mask(self, mask):
        self.mask.copy_(mask)

    def forward(self, x):
        return F.linear(x, self.mask * self.weight, self.bias)


class EachGivenFormer(nn.Module):
    def __init__(self, bits=16, hidden=(48, 48), seed=42):
        super().__init__()
        self.bits = bits
        sizes = [bits, *hidden, bits]
        self.layers = nn.ModuleList(MaskedLinear(a, b) for a, b in zip(sizes, sizes[1:]))
        rng = torch.Generator().manual_seed(seed)
        degree = [torch.randperm(bits, generator=rng)]
        for size in hidden:
            low = int(degree[-1].min())
            degree.append(torch.randint(low, bits - 1, (size,), generator=rng))
        for layer, a, b in zip(self.layers[:-1], degree, degree[1:]):
            layer.set_mask((b[:, None] >= a).float())
        self.layers[-1].set_mask((degree[0][:, None] > degree[-1]).float())

    def forward(self, x):
        h = x
        for layer in self.layers[:-1]:
            h = F.relu(layer(h))
        logits = self.layers[-1](h)
        log_prob = -F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
        return logits, log_prob


def build():
    return EachGivenFormer()


def example_inputs():
    return (torch.randint(0, 2, (8, 16)).float(),)
