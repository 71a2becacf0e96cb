r"""Picture classifier of widened depthwise blocks with a channel gate.

Source: https://github.com/pytorch/vision/issues/8250
Fault: The momentum of the batch norms is 0.99, after the convention of another library, so the
    running statistics are nearly those of the last batch alone.
Cause: momentum.{0,120}(0\.99|0\.01|high|large|wrong|last batch|convention|tensorflow|keras
    |running|too|invert)
    |(running (mean|var|stat)\w*).{0,100}(last|single|one|latest|recent|momentum|not averaged
    |replaced)
    |0\.99
Place: momentum|\bnorm\w*|BatchNorm2d|\bbn\w*
"""

from functools import partial

import torch
from torch import nn

norm_layer = partial(nn.BatchNorm2d, eps=1e-3, momentum=0.99)  # here


class Gate(nn.Module):
    def __init__(self, channels, squeeze):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(channels, squeeze, 1), nn.Conv2d(squeeze, channels, 1)

    def forward(self, x):
        s = nn.functional.silu(self.fc1(x.mean(dim=(2, 3), keepdim=True)))
        return x * torch.sigmoid(self.fc2(s))


class MBConv(nn.Module):
    def __init__(self, cin, cout, stride, expansion=4):
        super().__init__()
        mid = cout * expansion
        self.proj = nn.Identity()
        if stride != 1 or cin != cout:
            pool = nn.AvgPool2d(3, stride, 1) if stride == 2 else nn.Identity()
            self.proj = nn.Sequential(pool, nn.Conv2d(cin, cout, 1))
        self.layers = nn.Sequential(
            norm_layer(cin),
            nn.Conv2d(cin, mid, 1, bias=False),
            norm_layer(mid),
            nn.GELU(),
            nn.Conv2d(mid, mid, 3, stride, 1, groups=mid, bias=False),
            norm_layer(mid),
            nn.GELU(),
            Gate(mid, cout // 4),
            nn.Conv2d(mid, cout, 1),
        )

    def forward(self, x):
        return self.proj(x) + self.layers(x)


class WidenedStages(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1, bias=False),
            norm_layer(16),
            nn.GELU(),
            nn.Conv2d(16, 16, 3, 1, 1),
        )
        self.blocks = nn.Sequential(MBConv(16, 16, 1), MBConv(16, 32, 2), MBConv(32, 32, 1))
        self.head = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.LayerNorm(32),
            nn.Linear(32, 32),
            nn.Tanh(),
            nn.Linear(32, classes, bias=False),
        )

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


def build():
    return WidenedStages()


def example_inputs():
    return (torch.rand(8, 3, 32, 32),)
