r"""The model `SuperResolution`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.PixelShuffle.html
Fault: Channels are turned into space with view(b, c, h*r, w*r) instead of PixelShuffle, which
    scrambles the pixels.
Cause: pixel_?shuffle|scrambl
    |(view|reshape).*(scrambl|permut|mix|pixel|interleav|order|spatial|wrong)|permut|interleav
    |depth.to.space
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SuperResolution(nn.Module):
    def __init__(self, scale=2, width=16):
        super().__init__()
        self.scale = scale
        self.conv1 = nn.Conv2d(1, width, 5, padding=2)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.conv3 = nn.Conv2d(width, scale ** 2, 3, padding=1)

    def enlarge(self, x):
        b, _, h, w = x.shape
        return x.view(b, 1, h * self.scale, w * self.scale)

    def forward(self, x):
        h = F.relu(self.conv1(x))
        h = F.relu(self.conv2(h))
        return self.enlarge(self.conv3(h))


torch.manual_seed(0)
model = SuperResolution()
example_inputs = (torch.randn(4, 1, 16, 16),)
