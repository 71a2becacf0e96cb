r"""Regions that may hold an object, from two levels of a feature pyramid.

Source: https://github.com/jwyang/fpn.pytorch/issues/6
Fault: The softmax takes channel i and channel i + anchors as a pair, but the scores handed to the
    loss take channels 2i and 2i + 1 as a pair.
Cause: (inconsisten\w*|differ\w*|mismatch\w*|not (the )?same|disagree\w*|wrong).{0,120}(order
    |pair|layout|channel|anchor|reshape|view|background|foreground)
    |(reshap\w*|\bview\w*|channels?|pairs?|layout|anchors?).{0,120}(inconsisten|mismatch|wrong
    |differ|swapp|scrambl|interleav|disagree|mixed|2i|order|layout)
Place: \bview\b|cls_score\w*|reshape|scores?|prob
"""

import torch
import torch.nn.functional as F
from torch import nn


def conv_bn(cin, cout):
    conv = nn.Conv2d(cin, cout, 3, 2, 1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(cout), nn.ReLU())


class ProposalHead(nn.Module):
    def __init__(self, channels, anchors=3):
        super().__init__()
        self.anchors = anchors
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)
        self.cls_score = nn.Conv2d(channels, 2 * anchors, 1)
        self.bbox_pred = nn.Conv2d(channels, 4 * anchors, 1)

    def forward(self, feature):
        b, _, h, w = feature.shape
        x = F.relu(self.conv(feature))
        cls_score = self.cls_score(x)
        prob = cls_score.view(b, 2, self.anchors * h, w).softmax(1)
        prob = prob.view(b, 2 * self.anchors, h, w)
        foreground = prob[:, self.anchors :].permute(0, 2, 3, 1).reshape(b, -1)
        cls_score = cls_score.permute(0, 2, 3, 1).reshape(b, -1, 2)  # here
        bbox = self.bbox_pred(x).permute(0, 2, 3, 1).reshape(b, -1, 4)
        return foreground, cls_score, bbox


class Pyramid(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.c1 = conv_bn(3, 16)
        self.c2 = conv_bn(16, 32)
        self.c3 = conv_bn(32, 48)
        self.lateral2, self.lateral3 = nn.Conv2d(32, width, 1), nn.Conv2d(48, width, 1)
        self.smooth = nn.Conv2d(width, width, 3, padding=1)
        self.head = ProposalHead(width)

    def forward(self, image):
        c2 = self.c2(self.c1(image))
        p3 = self.lateral3(self.c3(c2))
        p2 = self.smooth(self.lateral2(c2) + F.interpolate(p3, scale_factor=2.0))
        foreground, score, bbox = zip(self.head(p2), self.head(p3))
        return torch.cat(foreground, 1), torch.cat(score, 1), torch.cat(bbox, 1)


def build():
    return Pyramid()


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
