r"""Street segmentation learnt on scenes of a game, with two outputs of parallel dilations.

Source: https://github.com/wasidennis/AdaptSegNet/issues/60
Fault: The return stands inside the loop, so only the first two of the four dilated convolutions
    are used.
Cause: return.{0,100}(inside|within|in the|loop|early|first iteration|too (soon|early)
    |indent\w*|premature)|(early|premature|mis-?indented|indent\w*).{0,40}return|(only
    |just).{0,40}(two|2|first|6 and 12).{0,60}(dilat\w*|conv\w*|branch\w*|rate\w*|used)|(last
    |other|remaining|third|two of|18|24).{0,80}(never|un-?used|no gradient|not (used|run
    |reached)|ignored|dead)|loop.{0,60}(first|once|leaves|exit\w*|end\w*|stops)
    |conv2d_list.{0,60}(never|un-?used|no grad\w*|not (used|run)|dead)
Place: return|forward|\bout\b|conv2d_list|Classifier\w*|loop
"""

import torch
import torch.nn.functional as F
from torch import nn


class ClassifierModule(nn.Module):
    def __init__(self, inputs, dilations, paddings, classes):
        super().__init__()
        self.conv2d_list = nn.ModuleList(
            nn.Conv2d(inputs, classes, 3, padding=padding, dilation=dilation, bias=True)
            for dilation, padding in zip(dilations, paddings)
        )
        for m in self.conv2d_list:
            m.weight.data.normal_(0, 0.01)

    def forward(self, x):
        out = self.conv2d_list[0](x)
        for i in range(len(self.conv2d_list) - 1):
            out = out + self.conv2d_list[i + 1](x)
            return out  # here


class Bottleneck(nn.Module):
    def __init__(self, inputs, planes, stride=1, dilation=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, planes, 1, stride, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, dilation, dilation, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, 2 * planes, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(2 * planes)
        self.down = None
        if stride != 1 or inputs != 2 * planes:
            self.down = nn.Sequential(
                nn.Conv2d(inputs, 2 * planes, 1, stride, bias=False), nn.BatchNorm2d(2 * planes)
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn3(self.conv3(F.relu(self.bn2(self.conv2(out)))))
        return F.relu(out + (x if self.down is None else self.down(x)))


class Streets(nn.Module):
    def __init__(self, classes=19):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16), nn.ReLU()
        )
        self.layer1, self.layer2 = Bottleneck(16, 16), Bottleneck(32, 24, 2)
        self.layer3, self.layer4 = Bottleneck(48, 32, 1, 2), Bottleneck(64, 32, 1, 4)
        rates = [6, 12, 18, 24]
        self.layer5 = ClassifierModule(64, rates, rates, classes)
        self.layer6 = ClassifierModule(64, rates, rates, classes)

    def forward(self, x):
        x = self.layer3(self.layer2(self.layer1(self.stem(x))))
        x1 = self.layer5(x)
        x2 = self.layer6(self.layer4(x))
        return x1, x2


def build():
    return Streets()


def example_inputs():
    return (torch.rand(2, 3, 96, 128),)
