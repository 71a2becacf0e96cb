r"""Segmentation of cells with unpadded convolutions, so the features of the left side are cropped.

Source: https://github.com/jakeret/tf_unet/issues/7
Fault: The cropped features are cut from the graph, so no gradient goes through the connections.
Cause: detach|gradients?.{0,60}(skip|crop|connection|concat|block|cut|flow|reach|stop|through)
    |\.data|(skip|crop|connection)\w*.{0,60}(gradient|graph|backprop)|(cut|outside|leave).{0,20}graph
Place: crop_and_concat|crop
"""

import torch
from torch import nn


def crop_and_concat(left, up):
    top = (left.size(2) - up.size(2)) // 2
    side = (left.size(3) - up.size(3)) // 2
    crop = left.data[:, :, top : top + up.size(2), side : side + up.size(3)]  # here
    return torch.cat([crop, up], dim=1)


def double_conv(channels, out):
    return nn.Sequential(nn.Conv2d(channels, out, 3), nn.ReLU(), nn.Conv2d(out, out, 3), nn.ReLU())


class CropUnet(nn.Module):
    def __init__(self, width=12, classes=2):
        super().__init__()
        self.left1 = double_conv(1, width)
        self.left2 = double_conv(width, 2 * width)
        self.bottom = double_conv(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.right2 = double_conv(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.right1 = double_conv(2 * width, width)
        self.classes = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        one = self.left1(x)
        two = self.left2(nn.functional.max_pool2d(one, 2))
        h = self.bottom(nn.functional.max_pool2d(two, 2))
        h = self.right2(crop_and_concat(two, self.up2(h)))
        h = self.right1(crop_and_concat(one, self.up1(h)))
        return self.classes(h)


def build():
    return CropUnet()


def example_inputs():
    return torch.rand(2, 1, 60, 60)
