"""A small U-Net for binary masks.

Source: https://github.com/avBuffer/UNet3plus_pth/issues/23
    https://github.com/lopuhin/kaggle-imet-2019/issues/3
Fault: the output passes a sigmoid and the loss takes one more, so no probability falls below one
    half.
Cause: sigmoid.*(twice|double|again|already|two|before)|double sigmoid|logits
Place: sigmoid|outconv
"""

import torch
import torch.nn.functional as F
from torch import nn


class MiniUNet(nn.Module):
    def __init__(self, in_channels=3, base=8):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(in_channels, base, 3, padding=1), nn.ReLU())
        self.bottom = nn.Sequential(nn.Conv2d(base, 2 * base, 3, padding=1), nn.ReLU())
        self.up = nn.ConvTranspose2d(2 * base, base, 2, stride=2)
        self.outconv1 = nn.Conv2d(2 * base, 1, 3, padding=1)

    def forward(self, inputs, masks):
        h1 = self.down(inputs)
        h2 = self.bottom(F.max_pool2d(h1, 2))
        d1 = self.outconv1(torch.cat([h1, self.up(h2)], dim=1))
        d1 = torch.sigmoid(d1)  # here
        return {"loss": F.binary_cross_entropy_with_logits(d1, masks), "mask": d1}


def example_inputs():
    return (
        torch.randn(2, 3, 16, 16),
        (torch.rand(2, 1, 16, 16) > 0.8).float(),
    )
