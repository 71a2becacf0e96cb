r"""A small classifier with convolutional block attention modules, as in a notebook on CBAM.

Source: https://github.com/Peachypie98/CBAM/issues/2
Fault: The spatial attention map is multiplied with the features as the convolution gives it, with
    no sigmoid, so it isn't a gate between zero and one: it has any sign and any size.
Cause: sigmoid|(not|never|n't|no) .{0,20}(squash|bound|gate)|unbounded|not (limited|between|in \[?0)
    |(negative|any sign).{0,40}(gate|map|weight|attention|mask)|raw .{0,30}(map|conv|gate|attention)
    |(gate|map|attention)\w*.{0,50}(negative|outside|beyond|without an? activation)
Place: SAM|spatial|sam
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class SAM(nn.Module):
    def __init__(self, bias=False):
        super(SAM, self).__init__()
        self.bias = bias
        self.conv = nn.Conv2d(in_channels=2, out_channels=1, kernel_size=7, stride=1, padding=3,
                              dilation=1, bias=self.bias)

    def forward(self, x):
        max = torch.max(x, 1)[0].unsqueeze(1)
        avg = torch.mean(x, 1).unsqueeze(1)
        concat = torch.cat((max, avg), dim=1)
        output = self.conv(concat)
        output = output * x  # here
        return output


class CAM(nn.Module):
    def __init__(self, channels, r):
        super(CAM, self).__init__()
        self.channels = channels
        self.r = r
        self.linear = nn.Sequential(
            nn.Linear(in_features=self.channels, out_features=self.channels // self.r, bias=True),
            nn.ReLU(inplace=True),
            nn.Linear(in_features=self.channels // self.r, out_features=self.channels, bias=True))

    def forward(self, x):
        max = F.adaptive_max_pool2d(x, output_size=1)
        avg = F.adaptive_avg_pool2d(x, output_size=1)
        b, c, _, _ = x.size()
        linear_max = self.linear(max.view(b, c)).view(b, c, 1, 1)
        linear_avg = self.linear(avg.view(b, c)).view(b, c, 1, 1)
        output = linear_max + linear_avg
        output = torch.sigmoid(output) * x
        return output


class CBAM(nn.Module):
    def __init__(self, channels, r):
        super(CBAM, self).__init__()
        self.channels = channels
        self.r = r
        self.sam = SAM(bias=False)
        self.cam = CAM(channels=self.channels, r=self.r)

    def forward(self, x):
        output = self.cam(x)
        output = self.sam(output)
        return output + x


class ConvBlock(nn.Module):
    def __init__(self, cin, cout, r=4):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout)
        self.cbam = CBAM(cout, r)

    def forward(self, x):
        x = F.relu(self.bn(self.conv(x)))
        x = self.cbam(x)
        return F.max_pool2d(x, 2)


class Net(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.block1 = ConvBlock(3, 16)
        self.block2 = ConvBlock(16, 32)
        self.block3 = ConvBlock(32, 64)
        self.fc = nn.Linear(64, num_classes)

    def forward(self, x):
        x = self.block1(x)
        x = self.block2(x)
        x = self.block3(x)
        x = x.mean(dim=(2, 3))
        return self.fc(x)


def build():
    torch.manual_seed(0)
    return Net()


def example_inputs():
    torch.manual_seed(1)
    return (torch.randn(8, 3, 32, 32),)
