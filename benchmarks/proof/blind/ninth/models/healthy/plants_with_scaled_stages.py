r"""Plant classifier of inverted bottlenecks with a unit that saves memory.

Source: https://github.com/lukemelas/EfficientNet-PyTorch/blob/master/efficientnet_pytorch/utils.py
Odd: The activation is a hand-written autograd Function, and a whole sample's branch is dropped
    and the rest divided by the probability of being kept.
"""

import torch
from torch import nn


class SwishFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        ctx.save_for_backward(i)
        return i * torch.sigmoid(i)

    @staticmethod
    def backward(ctx, grad_output):
        (i,) = ctx.saved_tensors
        sigmoid = torch.sigmoid(i)
        return grad_output * (sigmoid * (1 + i * (1 - sigmoid)))


class Swish(nn.Module):
    def forward(self, x):
        return SwishFunction.apply(x)


def drop_connect(x, p, training):
    if not training or p == 0:
        return x
    keep = 1 - p
    mask = torch.floor(keep + torch.rand(len(x), 1, 1, 1, dtype=x.dtype, device=x.device))
    return x / keep * mask


class Bottleneck(nn.Module):
    def __init__(self, inputs, outputs, expand, kernel, stride, drop):
        super().__init__()
        wide, squeezed = inputs * expand, max(1, inputs // 4)
        self.skip, self.drop = stride == 1 and inputs == outputs, drop
        self.expand = nn.Sequential(
            nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide, 1e-3, 0.01), Swish()
        )
        self.depth = nn.Sequential(
            nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False),
            nn.BatchNorm2d(wide, 1e-3, 0.01),
            Swish(),
        )
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(wide, squeezed, 1),
            Swish(),
            nn.Conv2d(squeezed, wide, 1),
            nn.Sigmoid(),
        )
        self.project = nn.Sequential(
            nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs, 1e-3, 0.01)
        )

    def forward(self, x):
        h = self.depth(self.expand(x))
        h = self.project(h * self.squeeze(h))
        return x + drop_connect(h, self.drop, self.training) if self.skip else h


class Plants(nn.Module):
    def __init__(self, classes=12):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 12, 3, 2, 1, bias=False), nn.BatchNorm2d(12), Swish()
        )
        plan = [(12, 12, 1, 3, 1), (12, 16, 4, 3, 2), (16, 16, 4, 3, 1), (16, 24, 4, 5, 2)]
        plan.append((24, 24, 4, 5, 1))
        self.blocks = nn.Sequential(
            *[Bottleneck(*row, drop=0.2 * i / len(plan)) for i, row in enumerate(plan)]
        )
        self.head = nn.Sequential(nn.Conv2d(24, 48, 1, bias=False), nn.BatchNorm2d(48), Swish())
        self.dropout, self.fc = nn.Dropout(0.2), nn.Linear(48, classes)

    def forward(self, x):
        x = self.head(self.blocks(self.stem(x))).mean((2, 3))
        return self.fc(self.dropout(x))


def build():
    return Plants()


def example_inputs():
    return (torch.rand(4, 3, 48, 48),)
