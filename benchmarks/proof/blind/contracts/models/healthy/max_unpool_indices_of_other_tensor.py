r"""Colour and depth images with their own decoders.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxUnpool2d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class TwoBranchSegNet(nn.Module):
    """Colour and depth images with their own decoders."""

    def __init__(self, width=12, classes=3):
        super().__init__()
        self.enc_c = nn.Conv2d(3, width, 3, padding=1)
        self.enc_d = nn.Conv2d(1, width, 3, padding=1)
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2)
        self.dec_c = nn.Conv2d(width, width, 3, padding=1)
        self.dec_d = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(2 * width, classes, 1)

    def forward(self, color, depth):
        c, ic = self.pool(F.relu(self.enc_c(color)))
        d, i_d = self.pool(F.relu(self.enc_d(depth)))
        c = self.dec_c(self.unpool(c, ic))
        d = self.dec_d(self.unpool(d, i_d))
        return self.out(F.relu(torch.cat([c, d], dim=1)))


torch.manual_seed(0)
model = TwoBranchSegNet()
example_inputs = (torch.randn(4, 3, 16, 16), torch.randn(4, 1, 16, 16),)
