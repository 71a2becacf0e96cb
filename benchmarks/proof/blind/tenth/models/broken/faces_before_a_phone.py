r"""Light detector of faces for the front camera of a phone.

Source: https://github.com/shanglianlm0525/BlazeFace/issues/3
Fault: The second depthwise convolution of the double block has as many groups as the block has
    inputs, not as many as it has channels itself, so its channels are mixed in small groups.
Cause: group\w*.{0,140}(in_channels|in_ch|inchannels|mid|should|wrong|number|channels|fewer|too few|equal|depth.?wise)
    |(not|isn't|no longer).{0,30}depth.?wise|depth.?wise.{0,100}(group|mix\w*|wrong|not)
Place: groups|mid_channels|conv2|DoubleBlazeBlock|in_channels
"""

import torch
from torch import nn
from torch.nn import functional as F


def depth_point(in_channels, out_channels, groups, stride=1):
    return nn.Sequential(
        nn.Conv2d(in_channels, in_channels, 5, stride, 2, groups=groups, bias=False),
        nn.BatchNorm2d(in_channels),
        nn.Conv2d(in_channels, out_channels, 1, bias=False),
        nn.BatchNorm2d(out_channels),
    )


class BlazeBlock(nn.Module):
    def __init__(self, in_channels, out_channels, stride=1):
        super().__init__()
        self.stride, self.extra = stride, out_channels - in_channels
        self.conv1 = depth_point(in_channels, out_channels, in_channels, stride)

    def forward(self, x):
        h = self.conv1(x)
        if self.stride == 2:
            x = F.max_pool2d(x, 2)
        return F.relu(h + F.pad(x, (0, 0, 0, 0, 0, self.extra)))


class DoubleBlazeBlock(nn.Module):
    def __init__(self, in_channels, out_channels, mid_channels, stride=1):
        super().__init__()
        self.stride, self.extra = stride, out_channels - in_channels
        self.conv1 = nn.Sequential(
            depth_point(in_channels, mid_channels, in_channels, stride), nn.ReLU(inplace=True)
        )
        self.conv2 = depth_point(mid_channels, out_channels, in_channels)  # here

    def forward(self, x):
        h = self.conv2(self.conv1(x))
        if self.stride == 2:
            x = F.max_pool2d(x, 2)
        return F.relu(h + F.pad(x, (0, 0, 0, 0, 0, self.extra)))


class PhoneFaces(nn.Module):
    def __init__(self, anchors=2):
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(3, 12, 3, 2, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU(inplace=True)
        )
        self.single = nn.Sequential(BlazeBlock(12, 12), BlazeBlock(12, 16, 2))
        self.paired = nn.Sequential(
            DoubleBlazeBlock(16, 32, 64, 2),
            DoubleBlazeBlock(32, 32, 64),
            DoubleBlazeBlock(32, 48, 96),
        )
        self.score = nn.Conv2d(48, anchors, 1)
        self.box = nn.Conv2d(48, anchors * 4, 1)

    def forward(self, x):
        h = self.paired(self.single(self.first(x)))
        return self.score(h).flatten(1), self.box(h).flatten(2)


def build():
    return PhoneFaces()


def example_inputs():
    return (torch.rand(2, 3, 64, 64),)
