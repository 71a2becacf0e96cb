r"""Convolutional block attention as collected in a survey of visual attention, in a residual net.

Source: https://github.com/MenghaoGuo/Awesome-Vision-Attentions/issues/32
Fault: The channel attention adds the average branch to itself (y_avg + y_avg) where the average and
    the maximum branch should be added; the max-pooled branch is computed and thrown away.
Cause: (added|adds|add|sum\w*|plus) .{0,40}(itself|twice|to its own)|y_avg ?\+ ?y_avg
    |(max\w*|y_max)[ -]?(pool\w*|branch|path|statistic|map|output|result)?.{0,60}(unused|ignored
    |discard\w*|thrown|dropped|never|not used|no effect|lost|reach|dead)|(unused|ignore\w*
    |discard\w*
    |never uses?|does(n't| not) use|drops?) .{0,40}(max|y_max)|doubl\w+ .{0,30}(avg|average)
Place: y_avg|y_max|max_?pool|ChannelAttention|ChannelGate
"""

import torch
import torch.nn as nn


class ChannelAttention(nn.Module):
    def __init__(self, dim, reduction=4):
        super().__init__()
        self.avg_pool = nn.AdaptiveAvgPool2d(1)
        self.max_pool = nn.AdaptiveMaxPool2d(1)
        self.fc = nn.Sequential(
            nn.Conv2d(dim, dim // reduction, 1, bias=False),
            nn.ReLU(inplace=True),
            nn.Conv2d(dim // reduction, dim, 1, bias=False))
        self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        y_avg = self.fc(self.avg_pool(x))
        y_max = self.fc(self.max_pool(x))
        y = self.sigmoid(y_avg + y_avg)  # here
        return x * y


class SpatialAttention(nn.Module):
    def __init__(self, kernel_size=7):
        super().__init__()
        self.conv = nn.Conv2d(2, 1, kernel_size, padding=kernel_size // 2, bias=False)
        self.sigmoid = nn.Sigmoid()

    def forward(self, x):
        avg_out = torch.mean(x, dim=1, keepdim=True)
        max_out, _ = torch.max(x, dim=1, keepdim=True)
        y = torch.cat([avg_out, max_out], dim=1)
        return x * self.sigmoid(self.conv(y))


class CBAM(nn.Module):
    def __init__(self, dim, reduction=4, kernel_size=7):
        super().__init__()
        self.ca = ChannelAttention(dim, reduction)
        self.sa = SpatialAttention(kernel_size)

    def forward(self, x):
        x = self.ca(x)
        x = self.sa(x)
        return x


class Bottleneck(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.cbam = CBAM(cout)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity() if stride == 1 and cin == cout else nn.Sequential(
            nn.Conv2d(cin, cout, 1, stride, bias=False), nn.BatchNorm2d(cout))

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out = self.cbam(out)
        return self.relu(out + self.shortcut(x))


class AttentionResNet(nn.Module):
    def __init__(self, num_classes=6, width=16):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True))
        self.stage1 = Bottleneck(width, width)
        self.stage2 = Bottleneck(width, width * 2, 2)
        self.stage3 = Bottleneck(width * 2, width * 4, 2)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(width * 4, num_classes)

    def forward(self, x):
        x = self.stem(x)
        x = self.stage3(self.stage2(self.stage1(x)))
        x = torch.flatten(self.pool(x), 1)
        return self.fc(x)


def build():
    torch.manual_seed(0)
    return AttentionResNet()


def example_inputs():
    torch.manual_seed(1)
    return (torch.randn(8, 3, 24, 24),)
