r"""Net in the shape of a U that labels roads and roofs in aerial views.

Source: https://github.com/meetps/pytorch-semseg/issues/1
Fault: The features handed over to the decoder are taken after the max pooling, so each of its
    steps gets them at half of the resolution and the full-size ones never arrive.
Cause: (after|pooled|post|following).{0,80}(pool\w*|max.?pool\w*|features?|skip\w*)|pool\w*.{0,120}(before|instead|skip\w*|concat\w*|handed|decoder|passed|lost)
    |(skip|concat\w*).{0,120}(pool\w*|half|resolution|coarse\w*|level|wrong|fine)
    |(full.?(size|res\w*)|fine|high.?res\w*).{0,80}(lost|never|missing|not|does not)
Place: pool\d?|maxpool\d?|up_concat\d?|torch\.cat|\bconv\d
"""

import torch
from torch import nn


class UnetConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        )

    def forward(self, x):
        return self.layers(x)


class UnetUp(nn.Module):
    def __init__(self, below, beside, outputs):
        super().__init__()
        self.conv = UnetConv(below + beside, outputs)
        self.up = nn.ConvTranspose2d(outputs, outputs, kernel_size=2, stride=2)

    def forward(self, beside, below):
        return self.up(self.conv(torch.cat((beside, below), 1)))


class RoofNet(nn.Module):
    def __init__(self, bands=3, classes=4, filters=(8, 16, 32, 64)):
        super().__init__()
        f1, f2, f3, f4 = filters
        self.conv1, self.conv2, self.conv3 = UnetConv(bands, f1), UnetConv(f1, f2), UnetConv(f2, f3)
        self.maxpool = nn.MaxPool2d(2)
        self.center = UnetConv(f3, f4)
        self.up_concat3 = UnetUp(f4, f3, f3)
        self.up_concat2 = UnetUp(f3, f2, f2)
        self.up_concat1 = UnetUp(f2, f1, f1)
        self.final = nn.Conv2d(f1, classes, 1)

    def forward(self, inputs):
        pool1 = self.maxpool(self.conv1(inputs))
        pool2 = self.maxpool(self.conv2(pool1))
        pool3 = self.maxpool(self.conv3(pool2))
        center = self.center(pool3)
        up3 = self.up_concat3(pool3, center)  # here
        up2 = self.up_concat2(pool2, up3)  # here
        up1 = self.up_concat1(pool1, up2)  # here
        return self.final(up1)


def build():
    return RoofNet()


def example_inputs():
    return (torch.rand(2, 3, 32, 32),)
