r"""Capsules whose routing is found in a few rounds.

Source: https://github.com/gram-ai/capsule-networks/blob/master/capsule_network.py
Odd: Logits of the routing begin at zero and are no parameters; the lengths of the last capsules are
    the scores, of which the softmax is taken.
"""

import torch
from torch import nn


def squash(x, dim=-1):
    norm2 = x.square().sum(dim, keepdim=True)
    return norm2 / (1 + norm2) * x / (norm2 + 1e-8).sqrt()


class ClassCapsules(nn.Module):
    def __init__(self, capsules, inputs, in_size, out_size, rounds=3):
        super().__init__()
        self.route_weights = nn.Parameter(torch.randn(capsules, inputs, in_size, out_size) * 0.3)
        self.rounds = rounds

    def forward(self, x):
        priors = torch.einsum("bni,cnio->cbno", x, self.route_weights)
        logits = torch.zeros(*priors.shape[:3], 1)
        for i in range(self.rounds):
            outputs = squash((logits.softmax(0) * priors).sum(2, keepdim=True))
            if i + 1 < self.rounds:
                logits = logits + (priors * outputs).sum(-1, keepdim=True)
        return outputs.squeeze(2).transpose(0, 1)


class CapsuleNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.Conv2d(16, 16, 5, 2))
        self.digit_capsules = ClassCapsules(classes, 4 * 2 * 2 * 4, 4, 6)

    def forward(self, x):
        x = self.conv(x)
        x = squash(x.view(len(x), 4, 4, -1).transpose(2, 3).reshape(len(x), -1, 4))
        return self.digit_capsules(x).square().sum(-1).add(1e-8).sqrt().softmax(-1)


def build():
    return CapsuleNet()


def example_inputs():
    return torch.rand(6, 1, 16, 16)
