"""A control branch joined to a mostly frozen network by a zero convolution.

Source: https://github.com/Yuanshi9815/OminiControl/issues/54
Odd: the branch has no effect and no gradient until the zero convolution has moved.
"""

import torch
import torch.nn.functional as F
from torch import nn


class ControlledUNet(nn.Module):
    def __init__(self, c=4, width=8):
        super().__init__()
        self.inp = nn.Conv2d(c, width, 3, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(width, c, 3, padding=1)
        for part in (self.inp, self.mid):
            part.requires_grad_(False)
        self.control = nn.Sequential(nn.Conv2d(1, width, 3, padding=1), nn.SiLU())
        self.zero_conv = nn.Conv2d(width, width, 1)
        nn.init.zeros_(self.zero_conv.weight)
        nn.init.zeros_(self.zero_conv.bias)

    def forward(self, x, hint):
        h = F.silu(self.inp(x)) + self.zero_conv(self.control(hint))
        return self.out(F.silu(self.mid(h)))


def example_inputs():
    return (
        torch.randn(4, 4, 8, 8),
        torch.randn(4, 1, 8, 8),
    )
