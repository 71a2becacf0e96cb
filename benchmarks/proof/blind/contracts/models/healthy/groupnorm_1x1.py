r"""The model `SegHead`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.GroupNorm.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ImagePoolBranch(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 1, bias=False)
        self.norm = nn.GroupNorm(4, cout)

    def forward(self, x):
        size = x.shape[-2:]
        g = F.adaptive_avg_pool2d(x, 1)
        g = self.norm(self.conv(g))
        return F.interpolate(F.silu(g), size=size, mode="nearest")


class SegHead(nn.Module):
    def __init__(self, cin=16, mid=16, classes=4):
        super().__init__()
        self.local = nn.Conv2d(cin, mid, 3, padding=1)
        self.context = ImagePoolBranch(cin, mid)
        self.out = nn.Conv2d(2 * mid, classes, 1)

    def forward(self, x):
        h = torch.cat([F.silu(self.local(x)), self.context(x)], dim=1)
        return self.out(h)


torch.manual_seed(0)
model = SegHead()
example_inputs = (torch.randn(4, 16, 12, 12),)
