r"""A detector head with a classifier and a regressor per level.

Source: https://github.com/pytorch/pytorch/issues/59925
    https://github.com/meta-pytorch/torchfix/issues/31
Fault: the levels are collected in a tuple of modules, which the module does not register;
    parameters() has only the stem, so the heads are never trained nor saved.
Cause: ModuleList|(not|un).?registered|\btuple|(plain|python) (list|container)|not in .?parameters
Place: \bheads\b
"""

import torch
from torch import nn


class LevelHead(nn.Module):
    def __init__(self, channels, anchors, classes):
        super().__init__()
        self.cls = nn.Conv2d(channels, anchors * classes, 3, padding=1)
        self.box = nn.Conv2d(channels, anchors * 4, 3, padding=1)

    def forward(self, x):
        return self.cls(x), self.box(x)


class OneStage(nn.Module):
    def __init__(self, channels=24, anchors=3, classes=5):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, channels, 7, stride=4, padding=3), nn.ReLU())
        self.down = nn.MaxPool2d(2)
        self.heads = tuple(LevelHead(channels, anchors, classes) for _ in range(3))  # here

    def forward(self, images):
        x = self.stem(images)
        scores, boxes = [], []
        for head in self.heads:
            cls, box = head(x)
            scores.append(cls.flatten(2))
            boxes.append(box.flatten(2))
            x = self.down(x)
        return torch.cat(scores, 2), torch.cat(boxes, 2)


def build():
    return OneStage()


def example_inputs():
    return (torch.randn(2, 3, 64, 64),)
