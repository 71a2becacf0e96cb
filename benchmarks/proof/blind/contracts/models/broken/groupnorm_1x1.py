r"""The model `SegHead`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.GroupNorm.html
Fault: GroupNorm with one channel per group on a 1x1 map normalises a single value, so its output
    is constant and no gradient flows.
Cause: (group ?norm|normali).*(single|one) (value|element|channel)|1 ?x ?1|constant
    |(one|single) (value|element) per group|no gradient|zero (grad|variance)|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ImagePoolBranch(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 1, bias=False)
        self.norm = nn.GroupNorm(cout, cout)

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
