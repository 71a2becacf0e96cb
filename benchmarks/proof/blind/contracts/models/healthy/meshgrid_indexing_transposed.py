r"""Returns the horizontal and the vertical position of a blob.

Source: https://docs.pytorch.org/docs/stable/generated/torch.meshgrid.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CoordConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin + 2, cout, 3, padding=1)

    def forward(self, img):
        b, _, h, w = img.shape
        x = torch.linspace(-1, 1, w, device=img.device)
        y = torch.linspace(-1, 1, h, device=img.device)
        xx, yy = torch.meshgrid(x, y, indexing="xy")
        coords = torch.stack([xx, yy]).expand(b, 2, h, w)
        return F.relu(self.conv(torch.cat([img, coords], dim=1)))


class KeypointNet(nn.Module):
    """Returns the horizontal and the vertical position of a blob."""

    def __init__(self):
        super().__init__()
        self.feat = CoordConv(1, 16)
        self.out = nn.Linear(16, 2)

    def forward(self, img):
        return self.out(self.feat(img).mean(dim=(2, 3)))


torch.manual_seed(0)
model = KeypointNet()
example_inputs = (torch.randn(4, 1, 16, 16),)
