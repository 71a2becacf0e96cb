r"""A convolutional net that predicts forty yes-or-no attributes of a face.

Source: https://github.com/ewrfcas/face_attribute_classification_pytorch/issues/1
Fault: F.dropout is called without training=self.training, so it drops half of the features also
    after model.eval(): the predictions are random and worse than they could be.
Cause: dropout.{0,120}(eval|test|inference|training ?=|self\.training|always|active|still
    |not (be )?(turned|switched) off|flag|predict)|(eval|inference|test).{0,80}dropout
    |F\.dropout (ignores|without|is called)
Place: dropout|forward|AttributeNet
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def conv3x3(in_planes, out_planes, stride=1):
    return nn.Conv2d(in_planes, out_planes, kernel_size=3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride=1, downsample=None):
        super(BasicBlock, self).__init__()
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        residual = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.downsample is not None:
            residual = self.downsample(x)
        out += residual
        return self.relu(out)


class Classifier(nn.Module):
    def __init__(self, output_dim, in_dim):
        super(Classifier, self).__init__()
        self.linear = nn.Linear(in_dim, 64)
        self.bn = nn.BatchNorm1d(64)
        self.out = nn.Linear(64, output_dim)

    def forward(self, x):
        x = F.relu(self.bn(self.linear(x)))
        return self.out(x)


class AttributeNet(nn.Module):
    def __init__(self, layers=(1, 1, 1), num_attributes=40, dropout=0.5):
        super(AttributeNet, self).__init__()
        self.inplanes = 16
        self.dropout = dropout
        self.conv1 = nn.Conv2d(3, 16, kernel_size=5, stride=2, padding=2, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU(inplace=True)
        self.layer1 = self._make_layer(16, layers[0])
        self.layer2 = self._make_layer(32, layers[1], stride=2)
        self.layer3 = self._make_layer(64, layers[2], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = Classifier(num_attributes, 64)

        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode='fan_out', nonlinearity='relu')
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _make_layer(self, planes, blocks, stride=1):
        downsample = None
        if stride != 1 or self.inplanes != planes:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(planes))
        layers = [BasicBlock(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes
        for _ in range(1, blocks):
            layers.append(BasicBlock(planes, planes))
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.avgpool(x)
        x = x.view(x.size(0), -1)
        x = F.dropout(x, p=self.dropout)  # here
        return self.classifier(x)


def build():
    torch.manual_seed(0)
    return AttributeNet()


def example_inputs():
    torch.manual_seed(1)
    return (torch.rand(8, 3, 32, 32),)
