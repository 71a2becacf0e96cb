r"""Autoregressive model of pixels by masked convolutions.

Source: https://github.com/jzbontar/pixelcnn-pytorch/blob/master/main.py
Odd: Half of each kernel is set to zero in each forward, through .data, and so never learns.
"""

import torch
from torch import nn


class MaskedConv2d(nn.Conv2d):
    def __init__(self, mask_type, *args, **kwargs):
        super().__init__(*args, **kwargs)
        mask = torch.ones_like(self.weight)
        _, _, h, w = self.weight.size()
        mask[:, :, h // 2, w // 2 + (mask_type == "B") :] = 0
        mask[:, :, h // 2 + 1 :] = 0
        self.register_buffer("mask", mask)

    def forward(self, x):
        self.weight.data *= self.mask
        return super().forward(x)


def build():
    width, kwargs = 16, {"padding": 2, "bias": False}
    return nn.Sequential(
        MaskedConv2d("A", 1, width, 5, 1, **kwargs),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        MaskedConv2d("B", width, width, 5, 1, **kwargs),
        nn.BatchNorm2d(width),
        nn.ReLU(),
        nn.Conv2d(width, 16, 1),
    )


def example_inputs():
    return torch.rand(4, 1, 14, 14)
