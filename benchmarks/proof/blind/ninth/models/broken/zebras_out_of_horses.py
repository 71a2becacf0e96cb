r"""Generator that turns photographs of horses into photographs of zebras.

Source: https://github.com/vanhuyz/CycleGAN-TensorFlow/issues/28
Fault: The second convolution of the residual block uses the weights of the first, and its own
    are never used.
Cause: (weights?2|second|conv2).{0,120}(weights?1|first|same|unused|never|not used|shared?
    |dead|no grad\w*)|(weights?1|first).{0,80}(twice|both|again|reus\w*|two)|(never|not
    |un)\s?used.{0,40}weights?2|(shar\w+|same).{0,40}weights?|weights?2
Place: weights?[12]?|conv2|residual|forward|Rk
"""

import torch
import torch.nn.functional as F
from torch import nn


class Rk(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.weights1 = nn.Parameter(0.02 * torch.randn(k, k, 3, 3))
        self.weights2 = nn.Parameter(0.02 * torch.randn(k, k, 3, 3))
        self.norm1 = nn.InstanceNorm2d(k, affine=True)
        self.norm2 = nn.InstanceNorm2d(k, affine=True)

    def forward(self, x):
        padded1 = F.pad(x, (1, 1, 1, 1), mode="reflect")
        conv1 = F.conv2d(padded1, self.weights1)
        relu1 = F.relu(self.norm1(conv1))
        padded2 = F.pad(relu1, (1, 1, 1, 1), mode="reflect")
        conv2 = F.conv2d(padded2, self.weights1)  # here
        return x + self.norm2(conv2)


def dk(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False),
        nn.InstanceNorm2d(outputs, affine=True),
        nn.ReLU(),
    )


def uk(inputs, outputs):
    return nn.Sequential(
        nn.ConvTranspose2d(inputs, outputs, 3, 2, 1, output_padding=1, bias=False),
        nn.InstanceNorm2d(outputs, affine=True),
        nn.ReLU(),
    )


class Generator(nn.Module):
    def __init__(self, ngf=12, blocks=3):
        super().__init__()
        self.c7s1_32 = nn.Sequential(
            nn.ReflectionPad2d(3),
            nn.Conv2d(3, ngf, 7, bias=False),
            nn.InstanceNorm2d(ngf, affine=True),
            nn.ReLU(),
        )
        self.down = nn.Sequential(dk(ngf, 2 * ngf), dk(2 * ngf, 4 * ngf))
        self.res = nn.Sequential(*[Rk(4 * ngf) for _ in range(blocks)])
        self.up = nn.Sequential(uk(4 * ngf, 2 * ngf), uk(2 * ngf, ngf))
        self.last = nn.Sequential(nn.ReflectionPad2d(3), nn.Conv2d(ngf, 3, 7), nn.Tanh())

    def forward(self, x):
        return self.last(self.up(self.res(self.down(self.c7s1_32(x)))))


def build():
    return Generator()


def example_inputs():
    return (torch.rand(2, 3, 32, 32) * 2 - 1,)
