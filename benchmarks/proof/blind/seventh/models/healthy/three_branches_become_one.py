r"""Picture classifier trained with three parallel branches that can be merged into one filter.

Source: https://github.com/DingXiaoH/RepVGG/blob/main/repvgg.py
Odd: Each block adds a 3x3, a 1x1 and a bare batch norm of the input; in eval mode the branches are
    merged on the fly into one kernel, which gives the same output.
"""

import torch
import torch.nn.functional as F
from torch import nn


def conv_bn(cin, cout, k, stride):
    conv = nn.Conv2d(cin, cout, k, stride, k // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(cout))


class ThreeBranch(nn.Module):
    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.stride = stride
        self.identity = nn.BatchNorm2d(cin) if cin == cout and stride == 1 else None
        self.dense, self.point = conv_bn(cin, cout, 3, stride), conv_bn(cin, cout, 1, stride)

    @staticmethod
    def fuse(kernel, bn):
        t = bn.weight / (bn.running_var + bn.eps).sqrt()
        return kernel * t[:, None, None, None], bn.bias - bn.running_mean * t

    def merged(self):
        k3, b3 = self.fuse(self.dense[0].weight, self.dense[1])
        k1, b1 = self.fuse(self.point[0].weight, self.point[1])
        kernel, bias = k3 + F.pad(k1, (1, 1, 1, 1)), b3 + b1
        if self.identity is not None:
            eye = torch.zeros_like(k3)
            index = torch.arange(len(eye))
            eye[index, index, 1, 1] = 1
            k, b = self.fuse(eye, self.identity)
            kernel, bias = kernel + k, bias + b
        return kernel, bias

    def forward(self, x):
        if not self.training:
            kernel, bias = self.merged()
            return F.relu(F.conv2d(x, kernel, bias, self.stride, 1))
        y = self.dense(x) + self.point(x)
        if self.identity is not None:
            y = y + self.identity(x)
        return F.relu(y)


class ThreeToOne(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stages = nn.Sequential(
            ThreeBranch(3, 16, 2),
            ThreeBranch(16, 16),
            ThreeBranch(16, 32, 2),
            ThreeBranch(32, 32),
            ThreeBranch(32, 64, 2),
        )
        self.linear = nn.Linear(64, classes)

    def forward(self, x):
        return self.linear(self.stages(x).mean((2, 3)))


def build():
    return ThreeToOne()


def example_inputs():
    return (torch.rand(6, 3, 32, 32),)
