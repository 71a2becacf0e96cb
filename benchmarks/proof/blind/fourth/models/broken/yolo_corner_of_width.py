r"""Detector of one stage with two boxes in each cell, and its loss.

Source: https://github.com/motokimura/yolo_v1_pytorch/issues/1
Fault: Corners are computed from column 2, a width, where columns 0 and 1, the centre, are meant;
    two boxes make the shapes fit.
Cause: broadcast|(wrong|same) (column|index|dimension)|shape|width .*cent|cent\w+ .*width
    |(never|not) .*(cent|column)
Place: xyxy
"""

import torch
from torch import nn


class Yolo(nn.Module):
    def __init__(self, cells=4):
        super().__init__()
        self.cells = cells
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1),
            nn.LeakyReLU(0.1),
            nn.Conv2d(16, 16, 3, stride=2, padding=1),
            nn.LeakyReLU(0.1),
        )
        self.detect = nn.Conv2d(16, 10, 1)

    def to_xyxy(self, box):
        xyxy = torch.zeros_like(box[:, :4])
        xyxy[:, :2] = box[:, 2] / self.cells - 0.5 * box[:, 2:4]  # here
        xyxy[:, 2:4] = box[:, 2] / self.cells + 0.5 * box[:, 2:4]  # here
        return xyxy

    def iou(self, a, b):
        low, high = torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])
        inter = (high - low).clamp(min=0).prod(1)
        areas = [(t[:, 2:] - t[:, :2]).prod(1) for t in (a, b)]
        return inter / (areas[0] + areas[1] - inter + 1e-6)

    def forward(self, image, boxes, cell):
        pred = torch.sigmoid(self.detect(self.body(image))).flatten(2).transpose(1, 2)
        loss = 0.5 * pred[..., 4::5].square().mean()
        for i in range(len(image)):
            two = pred[i, cell[i]].view(2, 5)
            ious = self.iou(self.to_xyxy(two), self.to_xyxy(boxes[i].expand(2, 4)))
            best = two[ious.argmax()]
            loss = loss + (5 * (best[:4] - boxes[i]).square().sum()) / len(image)
            loss = loss + (best[4] - ious.max().detach()).square() / len(image)
        return loss


def build():
    return Yolo()


def example_inputs():
    return torch.randn(4, 3, 16, 16), torch.rand(4, 4) * 0.5 + 0.2, torch.randint(0, 16, (4,))
