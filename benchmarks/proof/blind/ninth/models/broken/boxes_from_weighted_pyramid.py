r"""Detector with a weighted two-way pyramid and heads shared by its levels.

Source: https://github.com/zylo117/Yet-Another-EfficientDet-Pytorch/issues/722
Fault: The condition "conv_list" or "header" in name is always true, so every convolution is
    initialised like those of the heads and the He initialisation is never used.
Cause: always (true|taken|holds)|(condition|\bif\b|\bor\b|test).{0,80}(always|true|constant
    |truthy|precedence|non-?empty)|truthy|(kaiming|\bhe\b).{0,60}(never|dead|unreach\w*|not)
    |unreachable|(every|all) conv\w*.{0,80}init\w*|(never|dead|else).{0,60}(kaiming|branch)
    |operator precedence
Place: init\w*|name|conv_list|header|variance_scaling|kaiming\w*
"""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn


def variance_scaling_(tensor, gain=1.0):
    fan_in, _ = nn.init._calculate_fan_in_and_fan_out(tensor)
    return nn.init.normal_(tensor, 0.0, math.sqrt(gain / float(fan_in)))


def init_weights(model):
    for name, module in model.named_modules():
        if isinstance(module, nn.Conv2d):
            if "conv_list" or "header" in name:  # here
                variance_scaling_(module.weight.data)
            else:
                nn.init.kaiming_uniform_(module.weight.data)
            if module.bias is not None:
                if "classifier.header" in name:
                    torch.nn.init.constant_(module.bias, -math.log((1 - 0.01) / 0.01))
                else:
                    module.bias.data.zero_()


class Head(nn.Module):
    def __init__(self, channels, outputs, anchors=3, layers=2):
        super().__init__()
        self.outputs = outputs
        self.conv_list = nn.ModuleList(
            nn.Conv2d(channels, channels, 3, padding=1) for _ in range(layers)
        )
        self.header = nn.Conv2d(channels, anchors * outputs, 3, padding=1)

    def forward(self, levels):
        results = []
        for x in levels:
            for conv in self.conv_list:
                x = F.silu(conv(x))
            x = self.header(x).permute(0, 2, 3, 1)
            results.append(x.reshape(len(x), -1, self.outputs))
        return torch.cat(results, 1)


class Pyramid(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down = nn.Conv2d(channels, channels, 3, 2, 1)
        self.top, self.low = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.weight_low, self.weight_top = (nn.Parameter(torch.ones(2)) for _ in range(2))

    def forward(self, low, top):
        w = F.relu(self.weight_low)
        w = w / (w.sum() + 1e-4)
        low = self.low(F.silu(w[0] * low + w[1] * F.interpolate(top, scale_factor=2.0)))
        w = F.relu(self.weight_top)
        w = w / (w.sum() + 1e-4)
        return low, self.top(F.silu(w[0] * top + w[1] * self.down(low)))


class Detector(nn.Module):
    def __init__(self, channels=32, classes=5):
        super().__init__()
        widths = (3, 16, 32, channels, channels)
        self.backbone = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.ReLU())
            for a, b in itertools.pairwise(widths)
        )
        self.pyramid = Pyramid(channels)
        self.classifier, self.regressor = Head(channels, classes), Head(channels, 4)
        init_weights(self)

    def forward(self, x):
        levels = []
        for stage in self.backbone:
            x = stage(x)
            levels.append(x)
        levels = self.pyramid(*levels[-2:])
        return torch.cat([self.regressor(levels), self.classifier(levels).sigmoid()], 2)


def build():
    return Detector()


def example_inputs():
    return (torch.rand(2, 3, 64, 64),)
