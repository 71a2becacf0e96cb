r"""Unusual pictures found by the distance of their code from a fixed point.

Source: https://github.com/lukasruff/Deep-SVDD-PyTorch
Odd: No layer has a bias and the batch norms have no weights, and the activation is leaky, so that
    the net cannot map all to one point; the fixed point is a buffer and is not learnt.
"""

import torch
import torch.nn.functional as F
from torch import nn


class UsualDistance(nn.Module):
    def __init__(self, rep_dim=24, eps=0.1):
        super().__init__()
        self.eps = eps
        self.pool = nn.MaxPool2d(2, 2)
        self.conv1 = nn.Conv2d(1, 12, 5, bias=False, padding=2)
        self.bn1 = nn.BatchNorm2d(12, eps=1e-4, affine=False)
        self.conv2 = nn.Conv2d(12, 8, 5, bias=False, padding=2)
        self.bn2 = nn.BatchNorm2d(8, eps=1e-4, affine=False)
        self.fc1 = nn.Linear(8 * 7 * 7, rep_dim, bias=False)
        center = torch.randn(rep_dim) * 0.3
        center = torch.where(center.abs() < eps, eps * center.sign(), center)
        self.register_buffer("center", center)
        self.register_buffer("radius", torch.tensor(0.0))

    def encode(self, x):
        x = self.pool(F.leaky_relu(self.bn1(self.conv1(x))))
        x = self.pool(F.leaky_relu(self.bn2(self.conv2(x))))
        return self.fc1(x.flatten(1))

    @torch.no_grad()
    def set_center(self, batch):
        c = self.encode(batch).mean(0)
        self.center.copy_(torch.where(c.abs() < self.eps, self.eps * c.sign(), c))

    def forward(self, x):
        return (self.encode(x) - self.center).square().sum(1) - self.radius.square()


def build():
    return UsualDistance()


def example_inputs():
    return (torch.randn(6, 1, 28, 28),)
