r"""Fusion of features of four levels with one smoothing convolution for each.

Source: https://github.com/yaoppeng/U-Net_v2/issues/10
    https://github.com/zalandoresearch/pytorch-vq-vae/issues/2
Fault: [conv] * 4 repeats one object, so the four levels share a single convolution.
Cause: shar|same (object|module|instance|layer|conv)|repeat|\* ?4|one (conv|module)
Place: convs
"""

import torch
import torch.nn.functional as F
from torch import nn


class SDI(nn.Module):
    def __init__(self, channel=8, n_classes=3):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(channel, channel, 3, padding=1)] * 4)  # here
        self.seg_out = nn.Conv2d(channel, n_classes, 1)

    def forward(self, anchor, deep):
        size = anchor.shape[-2:]
        xs = [
            anchor,
            F.avg_pool2d(anchor, 2),
            deep,
            F.avg_pool2d(deep, 2),
        ]
        ans = torch.ones_like(anchor)
        for x, conv in zip(xs, self.convs, strict=True):
            ans = ans * torch.sigmoid(conv(F.interpolate(x, size, mode="bilinear")))
        return self.seg_out(ans)


def example_inputs():
    return (
        torch.randn(2, 8, 8, 8),
        torch.randn(2, 8, 4, 4),
    )
