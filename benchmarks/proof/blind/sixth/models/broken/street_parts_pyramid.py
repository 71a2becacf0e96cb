r"""Labels of the parts of a street from dilated convolutions at several rates.

Source: https://github.com/bonlime/keras-deeplab-v3-plus/issues/4
Fault: The keep probability of the other framework became the drop rate, so 90 % are dropped.
Cause: drop ?out.{0,60}(high|large|0\.9|90|rate|most|probab|strong|too)
    |keep.?prob|(0\.9|90 ?%).{0,40}drop|drop\w*.{0,30}(0\.9|90 ?%)
Place: dropout|\bdrop\b
"""

import torch
import torch.nn.functional as F
from torch import nn


def conv_bn_relu(cin, cout, k=1, dilation=1):
    padding = dilation * (k // 2)
    return nn.Sequential(
        nn.Conv2d(cin, cout, k, padding=padding, dilation=dilation, bias=False),
        nn.BatchNorm2d(cout),
        nn.ReLU(),
    )


class Aspp(nn.Module):
    def __init__(self, cin, cout, rates=(2, 4, 6)):
        super().__init__()
        self.branches = nn.ModuleList([conv_bn_relu(cin, cout)])
        self.branches.extend(conv_bn_relu(cin, cout, 3, rate) for rate in rates)
        self.image_pool = conv_bn_relu(cin, cout)
        self.concat_projection = conv_bn_relu(cout * (len(rates) + 2), cout)
        self.dropout = nn.Dropout(0.9)  # here

    def forward(self, x):
        pooled = self.image_pool(F.adaptive_avg_pool2d(x, 1)).expand(-1, -1, *x.shape[2:])
        parts = [branch(x) for branch in self.branches] + [pooled]
        return self.dropout(self.concat_projection(torch.cat(parts, dim=1)))


class StreetParts(nn.Module):
    def __init__(self, classes=7):
        super().__init__()
        self.stem = nn.Sequential(conv_bn_relu(3, 16, 3), nn.MaxPool2d(2), conv_bn_relu(16, 32, 3))
        self.aspp = Aspp(32, 24)
        self.logits = nn.Conv2d(24, classes, 1)

    def forward(self, x):
        y = self.logits(self.aspp(self.stem(x)))
        return F.interpolate(y, size=x.shape[2:], mode="bilinear", align_corners=False)


def build():
    return StreetParts()


def example_inputs():
    return torch.rand(4, 3, 32, 32)
