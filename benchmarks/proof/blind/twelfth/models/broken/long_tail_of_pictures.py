r"""A residual net for long-tailed classes with a focal loss in the model.

Source: https://github.com/kaidic/LDAM-DRW/issues/6
Fault: F.cross_entropy averages over the batch before the focal factor is applied, so one factor is
    computed of the mean loss and hard and easy samples are not told apart.
Cause: (mean|average\w*|reduc\w*|scalar|single (value|number))\b.{0,120}(focal|factor|gamma|modulat
    |hard|easy|per[ -]sample|each sample)|(focal|factor|modulat\w*|gamma).{0,120}(mean|averag\w*
    |whole batch|scalar|reduc|single (value|number)|per[ -]sample|each sample)
    |reduction ?= ?['\"]?none
Place: focal_loss|FocalLoss|cross_entropy|reduction|input_values
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


def focal_loss(input_values, gamma):
    """Computes the focal loss"""
    p = torch.exp(-input_values)
    loss = (1 - p) ** gamma * input_values
    return loss.mean()


class FocalLoss(nn.Module):
    def __init__(self, weight=None, gamma=0.):
        super(FocalLoss, self).__init__()
        assert gamma >= 0
        self.gamma = gamma
        self.register_buffer('weight', weight)

    def forward(self, input, target):
        ce = F.cross_entropy(input, target, weight=self.weight)  # here
        return focal_loss(ce, self.gamma)


class LambdaLayer(nn.Module):
    def __init__(self, lambd):
        super(LambdaLayer, self).__init__()
        self.lambd = lambd

    def forward(self, x):
        return self.lambd(x)


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1,
                               bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.planes = planes
            self.in_planes = in_planes
            self.shortcut = LambdaLayer(lambda x: F.pad(
                x[:, :, ::2, ::2], (0, 0, 0, 0, planes // 4, planes // 4), "constant", 0))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


def _weights_init(m):
    if isinstance(m, nn.Linear) or isinstance(m, nn.Conv2d):
        nn.init.kaiming_normal_(m.weight)


class ResNet_s(nn.Module):
    def __init__(self, num_blocks, num_classes=5, cls_num_list=(100, 50, 20, 8, 4), gamma=1.0):
        super(ResNet_s, self).__init__()
        self.in_planes = 16
        self.conv1 = nn.Conv2d(3, 16, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = self._make_layer(16, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(32, num_blocks[1], stride=2)
        self.layer3 = self._make_layer(64, num_blocks[2], stride=2)
        self.linear = nn.Linear(64, num_classes)
        self.apply(_weights_init)

        beta = 0.9
        effective_num = 1.0 - torch.tensor([beta ** n for n in cls_num_list])
        per_cls_weights = (1.0 - beta) / effective_num
        per_cls_weights = per_cls_weights / per_cls_weights.sum() * len(cls_num_list)
        self.criterion = FocalLoss(weight=per_cls_weights, gamma=gamma)

    def _make_layer(self, planes, num_blocks, stride):
        layers = []
        for stride in [stride] + [1] * (num_blocks - 1):
            layers.append(BasicBlock(self.in_planes, planes, stride))
            self.in_planes = planes
        return nn.Sequential(*layers)

    def forward(self, x, target=None):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        out = F.avg_pool2d(out, out.size()[3])
        out = self.linear(out.view(out.size(0), -1))
        if target is None:
            return out
        return self.criterion(out, target)


def build():
    torch.manual_seed(0)
    return ResNet_s([1, 1, 1])


def example_inputs():
    torch.manual_seed(1)
    return torch.randn(12, 3, 16, 16), torch.tensor([0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3])
