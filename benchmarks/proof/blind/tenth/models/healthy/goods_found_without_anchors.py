r"""Goods on a counter, each place of each map giving its distances to the four sides of a box.

Source: https://github.com/hdjang/Feature-Selective-Anchor-Free-Module-for-Single-Shot-Object-Detection/issues/5
Odd: One head with the same weights runs over all the maps, and a ReLU ends the branch of boxes;
    its outputs are distances, which are never negative, and its bias starts above zero.
"""

import torch
from torch import nn
from torch.nn import functional as F


class DistanceHead(nn.Module):
    def __init__(self, channels=24, classes=5, stacked=2):
        super().__init__()

        def tower():
            layers = []
            for _ in range(stacked):
                layers += [
                    nn.Conv2d(channels, channels, 3, 1, 1),
                    nn.GroupNorm(6, channels),
                    nn.ReLU(),
                ]
            return nn.Sequential(*layers)

        self.cls_convs, self.reg_convs = tower(), tower()
        self.cls = nn.Conv2d(channels, classes, 3, 1, 1)
        self.reg = nn.Conv2d(channels, 4, 3, 1, 1)
        self.relu = nn.ReLU(inplace=True)
        nn.init.normal_(self.cls.weight, std=0.01)
        nn.init.constant_(self.cls.bias, -4.595)
        nn.init.normal_(self.reg.weight, std=0.1)
        nn.init.constant_(self.reg.bias, 1.0)

    def forward_single(self, x):
        return self.cls(self.cls_convs(x)), self.relu(self.reg(self.reg_convs(x)))

    def forward(self, feats):
        return tuple(map(list, zip(*map(self.forward_single, feats))))


class GoodsDetector(nn.Module):
    def __init__(self, width=24, strides=(4, 8, 16), normalizer=4.0):
        super().__init__()
        self.strides, self.normalizer = strides, normalizer
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU()
        )
        self.stage2 = nn.Sequential(nn.Conv2d(32, 48, 3, 2, 1), nn.ReLU())
        self.stage3 = nn.Sequential(nn.Conv2d(48, 64, 3, 2, 1), nn.ReLU())
        self.lateral = nn.ModuleList(nn.Conv2d(c, width, 1) for c in (32, 48, 64))
        self.head = DistanceHead(width)

    def forward(self, x):
        a = self.stem(x)
        b = self.stage2(a)
        maps = [conv(m) for conv, m in zip(self.lateral, (a, b, self.stage3(b)))]
        for i in (1, 0):
            maps[i] = maps[i] + F.interpolate(maps[i + 1], scale_factor=2)
        scores, boxes = [], []
        for cls, reg, stride in zip(*self.head(maps), self.strides):
            h, w = cls.shape[2:]
            ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
            centre = (torch.stack((xs, ys)).to(reg) + 0.5) * stride
            sides = reg * self.normalizer * stride
            box = torch.cat((centre - sides[:, :2], centre + sides[:, 2:]), 1)
            scores.append(cls.flatten(2))
            boxes.append(box.flatten(2))
        return torch.cat(scores, 2), torch.cat(boxes, 2)


def build():
    return GoodsDetector()


def example_inputs():
    return (torch.rand(2, 3, 64, 64),)
