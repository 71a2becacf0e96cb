r"""Critic of faces that also sees how much a group of pictures differs.

Source: https://github.com/facebookresearch/pytorch_GAN_zoo/issues/69
Fault: The batch is folded into groups along the first axis but the statistic is spread back in
    the other order, so pictures get the statistic of another group.
Cause: (group|batch|axis|axes|dimension|order)\w*.{0,120}(swap\w*|order|wrong|mismatch\w*
    |mix\w*|different|other|transpos\w*|inconsisten\w*)|(statistic|std
    |deviation).{0,140}(other|wrong|another|different|not belong|mis\w+).{0,60}
    |expand\w*.{0,80}(order|wrong|group)
Place: std\w*|group\w*|\bview\b|expand|spread|statistic\w*|\by\b
"""

import itertools

import torch
import torch.nn.functional as F
from torch import nn


def with_deviation(x, group=4):
    size = x.size()
    group = min(group, size[0])
    if size[0] % group:
        group = size[0]
    groups = size[0] // group
    if group > 1:
        y = x.view(group, groups, *size[1:])
        y = torch.sqrt(y.var(0) + 1e-8)
        y = y.flatten(1).mean(1).view(groups, 1)
        y = y.expand(groups, group * size[2] * size[3])  # here
        y = y.reshape(groups, group, 1, size[2], size[3]).reshape(-1, 1, size[2], size[3])  # here
    else:
        y = x.new_zeros(size[0], 1, size[2], size[3])
    return torch.cat([x, y], 1)


class ScaledConv(nn.Module):
    def __init__(self, inputs, outputs, kernel):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs, kernel, kernel))
        self.bias = nn.Parameter(torch.zeros(outputs))
        self.scale = (2 / (inputs * kernel**2)) ** 0.5
        self.padding = kernel // 2

    def forward(self, x):
        return F.conv2d(x, self.weight * self.scale, self.bias, padding=self.padding)


class Critic(nn.Module):
    def __init__(self, channels=(16, 32, 48)):
        super().__init__()
        self.from_rgb = ScaledConv(3, channels[0], 1)
        self.blocks = nn.ModuleList(
            nn.ModuleList([ScaledConv(a, a, 3), ScaledConv(a, b, 3)])
            for a, b in itertools.pairwise(channels)
        )
        self.last = ScaledConv(channels[-1] + 1, channels[-1], 3)
        self.decision = nn.Linear(channels[-1] * 16, 1)

    def forward(self, x):
        x = F.leaky_relu(self.from_rgb(x), 0.2)
        for first, second in self.blocks:
            x = F.leaky_relu(first(x), 0.2)
            x = F.avg_pool2d(F.leaky_relu(second(x), 0.2), 2)
        x = F.leaky_relu(self.last(with_deviation(x)), 0.2)
        return self.decision(x.flatten(1)).squeeze(1)


def build():
    return Critic()


def example_inputs():
    return (torch.rand(12, 3, 16, 16) * 2 - 1,)
