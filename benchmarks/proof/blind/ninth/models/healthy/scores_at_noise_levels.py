r"""Score network for pictures at many levels of noise, trained on all of them.

Source: https://github.com/ermongroup/ncsnv2
Odd: The network is told nothing of the noise level; its output is merely divided by the level's
    deviation, and the loss is multiplied by the square of it.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class InstanceNormPlus(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.InstanceNorm2d(features, affine=False)
        self.alpha = nn.Parameter(1 + 0.02 * torch.randn(features))
        self.gamma = nn.Parameter(1 + 0.02 * torch.randn(features))
        self.beta = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        means = x.mean((2, 3))
        spread = torch.sqrt(means.var(-1, keepdim=True) + 1e-5)
        means = (means - means.mean(-1, keepdim=True)) / spread
        h = self.norm(x) + (means * self.alpha)[..., None, None]
        return self.gamma.view(-1, 1, 1) * h + self.beta.view(-1, 1, 1)


class Block(nn.Module):
    def __init__(self, inputs, outputs, dilation=1, down=False):
        super().__init__()
        self.norm1, self.norm2 = InstanceNormPlus(inputs), InstanceNormPlus(outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=dilation, dilation=dilation)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=dilation, dilation=dilation)
        self.shortcut, self.down = nn.Conv2d(inputs, outputs, 1), down

    def forward(self, x):
        h = self.conv1(F.elu(self.norm1(x)))
        h = self.conv2(F.elu(self.norm2(h))) + self.shortcut(x)
        return F.avg_pool2d(h, 2) if self.down else h


class NoiseScores(nn.Module):
    def __init__(self, size=24, levels=20, highest=8.0, lowest=0.01):
        super().__init__()
        sigmas = torch.linspace(math.log(highest), math.log(lowest), levels).exp()
        self.register_buffer("sigmas", sigmas)
        self.first = nn.Conv2d(1, size, 3, padding=1)
        self.res1, self.res2 = Block(size, size), Block(size, 2 * size, down=True)
        self.res3 = Block(2 * size, 2 * size, dilation=2)
        self.back, self.last = Block(3 * size, size), Block(size, size)
        self.norm, self.out = InstanceNormPlus(size), nn.Conv2d(size, 1, 3, padding=1)

    def score(self, x, level):
        h1 = self.res1(self.first(2 * x - 1))
        h2 = self.res3(self.res2(h1))
        h = torch.cat([h1, F.interpolate(h2, scale_factor=2, mode="bilinear")], 1)
        h = self.out(F.elu(self.norm(self.last(self.back(h)))))
        return h / self.sigmas[level].view(-1, 1, 1, 1)

    def forward(self, x):
        level = torch.randint(0, len(self.sigmas), (len(x),), device=x.device)
        sigma = self.sigmas[level].view(-1, 1, 1, 1)
        noise = torch.randn_like(x) * sigma
        goal = -noise / sigma**2
        scores = self.score(x + noise, level)
        loss = 0.5 * (scores - goal).square().flatten(1).sum(1) * sigma.flatten() ** 2
        return loss.mean()


def build():
    return NoiseScores()


def example_inputs():
    return (torch.rand(8, 1, 16, 16),)
