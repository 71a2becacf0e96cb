r"""Tags of drawn pictures: residual blocks with a re-weighting of their channels.

Source: https://github.com/KichangKim/DeepDanbooru/issues/55
Fault: Both layers of the gate read x again, so the pooled vector and the first layer are thrown
    away and the gate is not a squeeze of the whole picture.
Cause: (pool\w*|squeez\w*|fc1|first (dense|linear|layer)|reduce).{0,100}(unused|overwrit|never
    |ignored|discard|no effect|not used|dead|lost|thrown)
    |(overwrit\w*|discard\w*|ignored|unused).{0,80}(pool|squeez|fc1|dense|\bs\b|first|reduce)
    |(reads?|takes?|applied to|uses?|called (on|with)|passed|given).{0,40}\bx\b
Place: \bs\b|fc1|fc2|squeeze\w*|reduce|expand|pool
"""

import torch
from torch import nn


class SqueezeExcitation(nn.Module):
    def __init__(self, channels, reduction=4):
        super().__init__()
        self.reduce = nn.Linear(channels, channels // reduction)
        self.expand = nn.Linear(channels, channels)
        self.relu, self.sigmoid = nn.ReLU(), nn.Sigmoid()

    def forward(self, x):
        s = x.mean(dim=(1, 2), keepdim=True)
        s = self.relu(self.reduce(x))  # here
        s = self.sigmoid(self.expand(x))  # here
        return x * s


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(cin, cout, 3, stride, 1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(),
            nn.Conv2d(cout, cout, 3, 1, 1, bias=False),
            nn.BatchNorm2d(cout),
        )
        self.gate = SqueezeExcitation(cout)
        self.shortcut = nn.Identity()
        if stride != 1 or cin != cout:
            self.shortcut = nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        y = self.gate(self.body(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return torch.relu(y + self.shortcut(x))


class DrawingTags(nn.Module):
    def __init__(self, tags=25):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 5, stride=2, padding=2)
        self.blocks = nn.Sequential(Block(16, 16, 1), Block(16, 32, 2), Block(32, 48, 2))
        self.conv = nn.Conv2d(48, tags, 1)

    def forward(self, x):
        return torch.sigmoid(self.conv(self.blocks(torch.relu(self.stem(x)))).mean(dim=(2, 3)))


def build():
    return DrawingTags()


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
