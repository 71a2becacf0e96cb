r"""Cars in a stack of feature maps, with weights shared by the maps but a norm for each.

Source: https://github.com/rwightman/efficientdet-pytorch/issues/53
Odd: The head uses the same convolutions on all levels and yet another batch norm on each level;
    the last layer's bias starts at the logarithm of a rare event.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class SeparableConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.depth = nn.Conv2d(inputs, inputs, 3, 1, 1, groups=inputs, bias=False)
        self.point = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x):
        return self.point(self.depth(x))


class HeadNet(nn.Module):
    def __init__(self, channels, outputs, levels, repeats=2, prior=None):
        super().__init__()
        self.conv_rep = nn.ModuleList(SeparableConv(channels, channels) for _ in range(repeats))
        self.bn_rep = nn.ModuleList(
            nn.ModuleList(nn.BatchNorm2d(channels, eps=1e-3, momentum=0.01) for _ in range(levels))
            for _ in range(repeats)
        )
        self.predict = SeparableConv(channels, outputs)
        nn.init.zeros_(self.predict.point.bias)
        if prior is not None:
            nn.init.constant_(self.predict.point.bias, -math.log((1 - prior) / prior))

    def forward(self, maps):
        outputs = []
        for level, x in enumerate(maps):
            for conv, norms in zip(self.conv_rep, self.bn_rep):
                x = F.silu(norms[level](conv(x)))
            outputs.append(self.predict(x).flatten(2))
        return torch.cat(outputs, 2)


class Fuse(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.edge_weights = nn.Parameter(torch.ones(parts))

    def forward(self, *parts):
        weights = F.relu(self.edge_weights)
        total = weights.sum() + 1e-4
        return sum(p * w / total for p, w in zip(parts, weights))


class CarDetector(nn.Module):
    def __init__(self, width=24, anchors=3, kinds=2):
        super().__init__()

        def down(inputs):
            return nn.Sequential(
                nn.Conv2d(inputs, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.SiLU()
            )

        self.stem, self.stage1 = down(3), down(width)
        self.stage2, self.stage3 = down(width), down(width)
        self.fuse1, self.fuse2 = Fuse(2), Fuse(2)
        self.mix1, self.mix2 = SeparableConv(width, width), SeparableConv(width, width)
        self.class_net = HeadNet(width, anchors * kinds, 3, prior=0.01)
        self.box_net = HeadNet(width, anchors * 4, 3)

    def forward(self, x):
        a = self.stage1(self.stem(x))
        b = self.stage2(a)
        c = self.stage3(b)
        b = self.mix1(F.silu(self.fuse1(b, F.interpolate(c, scale_factor=2))))
        a = self.mix2(F.silu(self.fuse2(a, F.interpolate(b, scale_factor=2))))
        return self.class_net((a, b, c)), self.box_net((a, b, c))


def build():
    return CarDetector()


def example_inputs():
    return (torch.rand(4, 3, 64, 64),)
