r"""A box regressor with the logarithmic IoU loss.

Source: https://github.com/open-mmlab/mmdetection/pull/733
Fault: the logarithm of the IoU is taken without a floor; boxes that do not touch have an IoU of
    zero, so the loss is infinite and the gradients nan.
Cause: \blog\b.*\b(zero|0)\b|\bious?\b.*\b(zero|0)\b|\beps\b|epsilon|clamp|(zero|no)
    overlap|disjoint
Place: \bious\b|iou_loss
"""

import torch
from torch import nn


def bbox_overlaps(a, b):
    top_left = torch.maximum(a[:, :2], b[:, :2])
    bottom_right = torch.minimum(a[:, 2:], b[:, 2:])
    wh = (bottom_right - top_left).clamp(min=0)
    inter = wh[:, 0] * wh[:, 1]
    area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    return inter / (area_a + area_b - inter)


def iou_loss(pred, target):
    ious = bbox_overlaps(pred, target)
    return -ious.log().mean()  # here


class BoxHead(nn.Module):
    def __init__(self, features=64):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(features, 64), nn.ReLU())
        self.centre = nn.Linear(64, 2)
        self.size = nn.Linear(64, 2)

    def forward(self, roi_feats, gt_boxes):
        h = self.shared(roi_feats)
        centre = torch.sigmoid(self.centre(h)) * 32
        half = nn.functional.softplus(self.size(h)) + 1
        boxes = torch.cat([centre - half, centre + half], 1)
        return {"loss": iou_loss(boxes, gt_boxes), "boxes": boxes}


def example_inputs():
    corner = torch.rand(12, 2) * 24
    return torch.randn(12, 64), torch.cat([corner, corner + 2 + torch.rand(12, 2) * 6], 1)
