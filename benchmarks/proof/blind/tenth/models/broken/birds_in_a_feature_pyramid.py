r"""Detector of birds with one head for all the levels of a feature pyramid.

Source: https://github.com/open-mmlab/mmdetection/issues/6515
Fault: The batch norms of the head are shared by levels of different statistics, so their running
    averages fit none of the levels and evaluation differs from training.
Cause: (batch.?norm\w*|\bbn\b|norm\w*).{0,160}(shared|levels?|scales|same (norm|module|layer)|several times|each level|separate|group.?norm|different statistics)
    |(shared|levels?|scales?).{0,120}(batch.?norm|\bbn\b|running (mean|var|stat|average)\w*|statistics)|running (mean|var|stat|average)\w*.{0,80}(mix\w*|none|level|fit)
Place: BatchNorm2d|\bnorm\b|cls_convs|reg_convs|ConvModule|BoxHead|\bbn\b
"""

import torch
from torch import nn
from torch.nn import functional as F


class ConvModule(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)  # here

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Scale(nn.Module):
    def __init__(self, value=1.0):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(value))

    def forward(self, x):
        return x * self.scale


class BoxHead(nn.Module):
    def __init__(self, channels, classes, levels, stacked=2):
        super().__init__()
        self.cls_convs = nn.Sequential(*[ConvModule(channels, channels) for _ in range(stacked)])
        self.reg_convs = nn.Sequential(*[ConvModule(channels, channels) for _ in range(stacked)])
        self.cls, self.reg = nn.Conv2d(channels, classes, 3, 1, 1), nn.Conv2d(channels, 4, 3, 1, 1)
        self.scales = nn.ModuleList(Scale() for _ in range(levels))
        nn.init.constant_(self.cls.bias, -4.6)

    def forward(self, feats):
        scores, boxes = [], []
        for feat, scale in zip(feats, self.scales):
            scores.append(self.cls(self.cls_convs(feat)).flatten(2))
            boxes.append(scale(self.reg(self.reg_convs(feat))).clamp(max=6).exp().flatten(2))
        return torch.cat(scores, 2), torch.cat(boxes, 2)


class BirdDetector(nn.Module):
    def __init__(self, width=24, classes=3):
        super().__init__()
        self.stages = nn.ModuleList()
        for inputs, outputs in ((3, 16), (16, 32), (32, 64), (64, 96)):
            stage = nn.Sequential(
                nn.Conv2d(inputs, outputs, 3, 2, 1, bias=False), nn.GroupNorm(8, outputs), nn.ReLU()
            )
            self.stages.append(stage)
        self.lateral = nn.ModuleList(nn.Conv2d(c, width, 1) for c in (32, 64, 96))
        self.smooth = nn.ModuleList(nn.Conv2d(width, width, 3, 1, 1) for _ in range(3))
        self.head = BoxHead(width, classes, 3)

    def forward(self, x):
        maps = []
        for stage in self.stages:
            x = stage(x)
            maps.append(x)
        laterals = [conv(m) for conv, m in zip(self.lateral, maps[1:])]
        for i in (1, 0):
            laterals[i] = laterals[i] + F.interpolate(laterals[i + 1], scale_factor=2)
        return self.head([conv(m) for conv, m in zip(self.smooth, laterals)])


def build():
    return BirdDetector()


def example_inputs():
    return (torch.rand(4, 3, 64, 64),)
