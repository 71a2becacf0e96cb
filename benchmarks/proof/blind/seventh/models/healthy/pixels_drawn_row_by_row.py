r"""Levels of each pixel given the pixels above and to the left.

Source: https://github.com/jzbontar/pixelcnn-pytorch
Odd: The data of the weights are multiplied by a mask in each call, outside of the graph; the very
    first pixel sees nothing but constants; the output has a class axis after the batch.
"""

import torch
from torch import nn


class MaskedConv2d(nn.Conv2d):
    def __init__(self, kind, *args, **kwargs):
        super().__init__(*args, **kwargs)
        mask = torch.ones_like(self.weight)
        h, w = self.weight.shape[2:]
        mask[:, :, h // 2, w // 2 + (kind == "B") :] = 0
        mask[:, :, h // 2 + 1 :] = 0
        self.register_buffer("mask", mask)

    def forward(self, x):
        self.weight.data *= self.mask
        return super().forward(x)


class RowByRow(nn.Module):
    def __init__(self, width=24, depth=4, levels=16):
        super().__init__()
        layers = []
        for i in range(depth):
            kind, cin = ("A", 1) if i == 0 else ("B", width)
            layers += [
                MaskedConv2d(kind, cin, width, 5, padding=2, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(True),
            ]
        self.net = nn.Sequential(*layers, nn.Conv2d(width, levels, 1))

    def forward(self, x):
        return self.net(x)


def build():
    return RowByRow()


def example_inputs():
    return (torch.randint(0, 16, (4, 1, 14, 14)).float() / 15,)
