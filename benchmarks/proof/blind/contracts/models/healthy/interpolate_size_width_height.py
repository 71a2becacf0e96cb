r"""The model `DepthNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.interpolate.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DepthNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down1 = nn.Conv2d(3, width, 3, stride=2, padding=1)
        self.down2 = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(2 * width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, img):
        h, w = img.shape[2], img.shape[3]
        x = F.relu(self.down1(img))
        x = F.relu(self.down2(x))
        x = F.relu(self.mid(x))
        x = F.interpolate(x, size=(h, w), mode="bilinear", align_corners=False)
        return F.softplus(self.out(x))


torch.manual_seed(0)
model = DepthNet()
example_inputs = (torch.randn(4, 3, 24, 40),)
