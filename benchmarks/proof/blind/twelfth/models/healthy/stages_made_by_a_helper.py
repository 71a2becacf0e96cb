r"""A residual backbone whose stages are made by a helper function, with a neck and a head.

Source: https://github.com/open-mmlab/mmdetection/issues/472
Healthy: make_res_layer collects the blocks in a plain list, which looks as if they were lost; the
    list is local and handed to nn.Sequential, and the stages are registered with add_module.
"""

import torch
import torch.nn as nn


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, dilation=1, downsample=None):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride=stride, padding=dilation,
                               dilation=dilation, bias=False)
        self.add_module('bn1', nn.BatchNorm2d(planes))
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.add_module('bn2', nn.BatchNorm2d(planes))
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    @property
    def norm1(self):
        return getattr(self, 'bn1')

    @property
    def norm2(self):
        return getattr(self, 'bn2')

    def forward(self, x):
        identity = x
        out = self.relu(self.norm1(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        return self.relu(out)


def make_res_layer(block, inplanes, planes, blocks, stride=1, dilation=1):
    downsample = None
    if stride != 1 or inplanes != planes * block.expansion:
        downsample = nn.Sequential(
            nn.Conv2d(inplanes, planes * block.expansion, kernel_size=1, stride=stride,
                      bias=False),
            nn.BatchNorm2d(planes * block.expansion),
        )

    layers = []
    layers.append(block(inplanes, planes, stride, dilation, downsample))
    inplanes = planes * block.expansion
    for i in range(1, blocks):
        layers.append(block(inplanes, planes, 1, dilation))
    return nn.Sequential(*layers)


class ResNet(nn.Module):
    def __init__(self, stage_blocks=(1, 1, 2), strides=(1, 2, 2), base=16, zero_init=True):
        super(ResNet, self).__init__()
        self.conv1 = nn.Conv2d(3, base, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(base)
        self.relu = nn.ReLU(inplace=True)

        self.res_layers = []
        inplanes = base
        for i, num_blocks in enumerate(stage_blocks):
            planes = base * 2**i
            res_layer = make_res_layer(BasicBlock, inplanes, planes, num_blocks,
                                       stride=strides[i])
            inplanes = planes
            layer_name = 'layer{}'.format(i + 1)
            self.add_module(layer_name, res_layer)
            self.res_layers.append(layer_name)

        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')
            if zero_init and isinstance(m, BasicBlock):
                nn.init.constant_(m.norm2.weight, 0)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        outs = []
        for layer_name in self.res_layers:
            x = getattr(self, layer_name)(x)
            outs.append(x)
        return tuple(outs)


class Detector(nn.Module):
    def __init__(self, num_classes=4):
        super(Detector, self).__init__()
        self.backbone = ResNet()
        self.lateral2 = nn.Conv2d(32, 32, 1)
        self.lateral3 = nn.Conv2d(64, 32, 1)
        self.lateral1 = nn.Conv2d(16, 32, 1)
        self.cls_head = nn.Conv2d(32, num_classes, 3, padding=1)

    def forward(self, img):
        c1, c2, c3 = self.backbone(img)
        p3 = self.lateral3(c3)
        p2 = self.lateral2(c2) + nn.functional.interpolate(p3, scale_factor=2)
        p1 = self.lateral1(c1) + nn.functional.interpolate(p2, scale_factor=2)
        return self.cls_head(p1), self.cls_head(p2), self.cls_head(p3)


def build():
    torch.manual_seed(0)
    return Detector()


def example_inputs():
    torch.manual_seed(1)
    return (torch.randn(4, 3, 32, 32),)
