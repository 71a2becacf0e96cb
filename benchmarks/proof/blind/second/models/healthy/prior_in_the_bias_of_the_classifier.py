"""A dense detector whose classifier starts with a probability of one percent.

Source: https://github.com/facebookresearch/Detectron/blob/main/detectron/modeling/retinanet_heads.py
    https://github.com/yhenon/pytorch-retinanet
Odd: the bias of the last layer is -4.6, so all the outputs are near 0.01 at first; this is the
    prior of the focal loss and keeps the many negatives from drowning the rest.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


def focal(logits, target, alpha=0.25, gamma=2.0):
    p = logits.sigmoid()
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    pt = p * target + (1 - p) * (1 - target)
    weight = alpha * target + (1 - alpha) * (1 - target)
    return (weight * (1 - pt) ** gamma * ce).sum() / target.sum().clamp(min=1)


class RetinaHead(nn.Module):
    def __init__(self, channels=24, classes=4, anchors=3, prior=0.01):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, channels, 3, 4, 1), nn.ReLU())
        self.tower = nn.Sequential(nn.Conv2d(channels, channels, 3, padding=1), nn.ReLU())
        self.cls_score = nn.Conv2d(channels, anchors * classes, 3, padding=1)
        nn.init.normal_(self.cls_score.weight, std=0.01)
        nn.init.constant_(self.cls_score.bias, -math.log((1 - prior) / prior))

    def forward(self, images, target):
        logits = self.cls_score(self.tower(self.backbone(images)))
        return {"loss": focal(logits, target), "logits": logits}


def example_inputs():
    return torch.randn(2, 3, 64, 64), (torch.rand(2, 12, 16, 16) < 0.003).float()
