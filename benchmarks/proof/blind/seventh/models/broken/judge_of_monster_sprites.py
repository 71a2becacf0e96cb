r"""Critic that scores pictures of small monsters.

Source: https://github.com/llSourcell/Pokemon_GAN/issues/11
Fault: The result of the first batch norm is not used; the next layer reads the convolution again.
Cause: (\bbn1\b|batch.?norm\w*|\bnorm\w*).{0,100}(unused|never (used|read)|not (used|read)
    |ignored|no effect|n't used|discard|bypass)
    |(unused|ignored|not used|discard\w*|bypass\w*).{0,80}(\bbn1\b|batch.?norm|\bnorm)
Place: \bbn1\b|norm1?\b|act1|conv1
"""

import torch
import torch.nn.functional as F
from torch import nn


class SpriteCritic(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 5, stride=2, padding=2, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, 2 * width, 5, stride=2, padding=2, bias=False)
        self.bn2 = nn.BatchNorm2d(2 * width)
        self.conv3 = nn.Conv2d(2 * width, 4 * width, 5, stride=2, padding=2, bias=False)
        self.bn3 = nn.BatchNorm2d(4 * width)
        self.conv4 = nn.Conv2d(4 * width, 4 * width, 5, stride=2, padding=2, bias=False)
        self.bn4 = nn.BatchNorm2d(4 * width)
        self.fc = nn.Linear(4 * width * 4, 1)
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(m.weight, std=0.02)
        nn.init.zeros_(self.fc.bias)

    def forward(self, picture):
        conv1 = self.conv1(picture)
        bn1 = self.bn1(conv1)
        act1 = F.leaky_relu(conv1, 0.2)  # here
        conv2 = self.conv2(act1)
        bn2 = self.bn2(conv2)
        act2 = F.leaky_relu(bn2, 0.2)
        conv3 = self.conv3(act2)
        bn3 = self.bn3(conv3)
        act3 = F.leaky_relu(bn3, 0.2)
        conv4 = self.conv4(act3)
        bn4 = self.bn4(conv4)
        act4 = F.leaky_relu(bn4, 0.2)
        return self.fc(act4.flatten(1))


def build():
    return SpriteCritic()


def example_inputs():
    return (2 * torch.rand(6, 3, 32, 32) - 1,)
