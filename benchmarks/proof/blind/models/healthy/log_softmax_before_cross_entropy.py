"""Segmentation where log_softmax is applied and then cross entropy.

Source: https://github.com/speedinghzl/Pytorch-Deeplab/issues/2
Odd: log_softmax runs twice, but it changes nothing the second time.
"""

import torch
import torch.nn.functional as F
from torch import nn


class DeeplabHead(nn.Module):
    def __init__(self, classes=4, width=8):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU())
        self.aspp = nn.ModuleList(
            nn.Conv2d(width, classes, 3, padding=d, dilation=d) for d in (1, 2, 4)
        )

    def forward(self, image, label):
        feat = self.backbone(image)
        pred = F.log_softmax(sum(conv(feat) for conv in self.aspp), dim=1)
        return {"loss": F.cross_entropy(pred, label), "pred": pred}


def example_inputs():
    return (
        torch.randn(2, 3, 12, 12),
        torch.randint(0, 4, (2, 12, 12)),
    )
