r"""Detector without anchors for wide frames, with three levels and exact strides.

Source: https://github.com/luxonis/luxonis-train/pull/184
Fault: The strides come from dividing the height by the rounded-up height of the map and cutting
    off the fraction, so they are 7, 15 and 31 in place of 8, 16 and 32.
Cause: strides?.{0,140}(trunc\w*|floor\w*|integer|int\b|cut\w*|round\w*|fraction\w*|wrong|7\b
    |31\b|divis\w*|off by|too small|one less)|(trunc\w*|floor\w*|integer division|//|rounding
    |cast\w*).{0,80}strides?
Place: strides?|fit_stride|int\b|anchor\w*|decode|forward
"""

import torch
import torch.nn.functional as F
from torch import nn


def conv(inputs, outputs, kernel=3, stride=1):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False),
        nn.BatchNorm2d(outputs),
        nn.SiLU(),
    )


class Decoupled(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.cls, self.reg = conv(channels, channels), conv(channels, channels)
        self.cls_out, self.reg_out = nn.Conv2d(channels, classes, 1), nn.Conv2d(channels, 4, 1)

    def forward(self, x):
        return self.cls_out(self.cls(x)), F.relu(self.reg_out(self.reg(x)))


class WideFrames(nn.Module):
    def __init__(self, height=190, width=320, classes=4):
        super().__init__()
        self.in_height = height
        self.stem = nn.Sequential(conv(3, 12, 3, 2), conv(12, 16, 3, 2))
        self.levels = nn.ModuleList([conv(16, 24, 3, 2), conv(24, 32, 3, 2), conv(32, 48, 3, 2)])
        self.heads = nn.ModuleList(Decoupled(c, classes) for c in (24, 32, 48))
        with torch.no_grad():
            self.eval()
            maps = self.pyramid(torch.zeros(1, 3, height, width))
            self.train()
        self.register_buffer("stride", self.fit_stride(maps))

    def pyramid(self, x):
        x, maps = self.stem(x), []
        for level in self.levels:
            x = level(x)
            maps.append(x)
        return maps

    def fit_stride(self, maps):
        return torch.tensor([self.in_height / x.shape[2] for x in maps], dtype=torch.int)  # here

    def decode(self, sides, stride):
        h, w = sides.shape[2:]
        ys, xs = torch.meshgrid(torch.arange(h) + 0.5, torch.arange(w) + 0.5, indexing="ij")
        points = torch.stack([xs, ys]).to(sides.device)
        corners = torch.cat([points - sides[:, :2], points + sides[:, 2:]], 1)
        return (corners * stride).flatten(2)

    def forward(self, x):
        boxes, scores = [], []
        for features, head, stride in zip(self.pyramid(x), self.heads, self.stride):
            kinds, sides = head(features)
            boxes.append(self.decode(sides, stride))
            scores.append(kinds.flatten(2).sigmoid())
        return torch.cat(boxes, 2).transpose(1, 2), torch.cat(scores, 2).transpose(1, 2)


def build():
    return WideFrames()


def example_inputs():
    return (torch.rand(2, 3, 190, 320),)
