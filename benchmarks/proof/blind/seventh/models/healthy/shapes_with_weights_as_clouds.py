r"""Classifier of line drawings whose weights are distributions and are drawn in each call.

Source: https://github.com/kumar-shridhar/PyTorch-BayesianCNN
Odd: Two calls give different outputs in eval mode too; the noise sits on the pre-activations, and
    the deviations are softplus(-5), which is small and right.
"""

import torch
import torch.nn.functional as F
from torch import nn


class CloudLayer(nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.mu = nn.Parameter(torch.empty(shape).normal_(0, 0.1))
        self.rho = nn.Parameter(torch.empty(shape).normal_(-5, 0.1))
        self.bias_mu = nn.Parameter(torch.empty(shape[0]).normal_(0, 0.1))
        self.bias_rho = nn.Parameter(torch.empty(shape[0]).normal_(-5, 0.1))

    def apply_weight(self, x, weight, bias):
        if x.dim() == 4:
            return F.conv2d(x, weight, bias, padding=weight.shape[-1] // 2)
        return F.linear(x, weight, bias)

    def forward(self, x):
        sigma, bias_sigma = F.softplus(self.rho), F.softplus(self.bias_rho)
        mean = self.apply_weight(x, self.mu, self.bias_mu)
        var = 1e-16 + self.apply_weight(x.square(), sigma.square(), bias_sigma.square())
        return mean + var.sqrt() * torch.randn_like(mean)

    def divergence(self, prior=0.1):
        total = 0.0
        for mu, rho in ((self.mu, self.rho), (self.bias_mu, self.bias_rho)):
            sigma = F.softplus(rho)
            ratio = sigma / prior
            total = total + 0.5 * (ratio.square() + (mu / prior).square() - 1).sum()
            total = total - ratio.log().sum()
        return total


class CloudNet(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.conv1, self.conv2 = CloudLayer(12, 1, 5, 5), CloudLayer(24, 12, 3, 3)
        self.fc1, self.fc2 = CloudLayer(48, 24 * 16), CloudLayer(classes, 48)

    def forward(self, x):
        x = F.max_pool2d(F.softplus(self.conv1(x)), 2)
        x = F.max_pool2d(F.softplus(self.conv2(x)), 2).flatten(1)
        x = self.fc2(F.softplus(self.fc1(x)))
        layers = (self.conv1, self.conv2, self.fc1, self.fc2)
        return x, sum(layer.divergence() for layer in layers)


def build():
    return CloudNet()


def example_inputs():
    return (torch.rand(6, 1, 16, 16),)
