r"""Inverted residual blocks with squeeze and excitation for mobile devices.

Source: https://github.com/huggingface/pytorch-image-models/blob/main/timm/models/_efficientnet_builder.py
Odd: Batch norm has eps 1e-3 and momentum 0.01, the settings of the weights of the other framework.
"""

import torch
from torch import nn

BN_ARGS = {"eps": 1e-3, "momentum": 0.01}


class SqueezeExcite(nn.Module):
    def __init__(self, chs, reduced):
        super().__init__()
        self.conv_reduce = nn.Conv2d(chs, reduced, 1)
        self.conv_expand = nn.Conv2d(reduced, chs, 1)

    def forward(self, x):
        s = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.conv_expand(nn.functional.silu(self.conv_reduce(s))))


class InvertedResidual(nn.Module):
    def __init__(self, n_in, n_out, stride=1, expand=4):
        super().__init__()
        mid = n_in * expand
        self.has_skip = stride == 1 and n_in == n_out
        self.body = nn.Sequential(
            nn.Conv2d(n_in, mid, 1, bias=False),
            nn.BatchNorm2d(mid, **BN_ARGS),
            nn.SiLU(),
            nn.Conv2d(mid, mid, 3, stride, 1, groups=mid, bias=False),
            nn.BatchNorm2d(mid, **BN_ARGS),
            nn.SiLU(),
            SqueezeExcite(mid, n_in // 4),
            nn.Conv2d(mid, n_out, 1, bias=False),
            nn.BatchNorm2d(n_out, **BN_ARGS),
        )

    def forward(self, x):
        return x + self.body(x) if self.has_skip else self.body(x)


class MobileNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16, **BN_ARGS), nn.SiLU()
        )
        self.blocks = nn.Sequential(
            InvertedResidual(16, 16), InvertedResidual(16, 24, 2), InvertedResidual(24, 24)
        )
        self.classifier = nn.Linear(24, classes)

    def forward(self, x):
        return self.classifier(self.blocks(self.stem(x)).mean((2, 3)))


def build():
    return MobileNet()


def example_inputs():
    return torch.randn(8, 3, 32, 32)
