"""MixStyle in the first layers of a convolutional network.

Source: https://github.com/KaiyangZhou/mixstyle-release/issues/3
Odd: the mean and deviation of each map are detached so that the net cannot undo the mixing.
"""

import torch
from torch import nn


class MixStyle(nn.Module):
    def __init__(self, p=0.5, alpha=0.3, eps=1e-6):
        super().__init__()
        self.p, self.eps = p, eps
        self.beta = torch.distributions.Beta(alpha, alpha)

    def forward(self, x):
        if not self.training or torch.rand(1).item() > self.p:
            return x
        mu = x.mean(dim=[2, 3], keepdim=True)
        sig = (x.var(dim=[2, 3], keepdim=True) + self.eps).sqrt()
        mu, sig = mu.detach(), sig.detach()
        normed = (x - mu) / sig
        lmda = self.beta.sample((x.size(0), 1, 1, 1))
        perm = torch.randperm(x.size(0))
        mu_mix = mu * lmda + mu[perm] * (1 - lmda)
        return normed * (sig * lmda + sig[perm] * (1 - lmda)) + mu_mix


def build():
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)]
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), MixStyle(), nn.Conv2d(8, 8, 3), *head)


def example_inputs():
    return (torch.randn(8, 3, 12, 12),)
