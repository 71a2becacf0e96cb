r"""The model `SuperResolution`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.PixelShuffle.html
Healthy: the right twin of the broken case of this name.
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
        return F.pixel_shuffle(x, self.scale)

    def forward(self, x):
        h = F.relu(self.conv1(x))
        h = F.relu(self.conv2(h))
        return self.enlarge(self.conv3(h))


torch.manual_seed(0)
model = SuperResolution()
example_inputs = (torch.randn(4, 1, 16, 16),)
