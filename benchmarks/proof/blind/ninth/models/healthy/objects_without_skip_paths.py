r"""Deep classifier of objects whose kernels hold the identity in place of skip connections.

Source: https://github.com/szagoruyko/diracnets
Odd: The blocks have no shortcut; each kernel is the sum of a fixed identity and a normalised
    weight, each scaled per channel.
"""

import torch
import torch.nn.functional as F
from torch import nn


class DiracConv2d(nn.Conv2d):
    def __init__(self, inputs, outputs, kernel, padding=0):
        super().__init__(inputs, outputs, kernel, padding=padding, bias=True)
        self.alpha = nn.Parameter(torch.ones(outputs))
        self.beta = nn.Parameter(torch.full((outputs,), 0.1))
        self.register_buffer("delta", nn.init.dirac_(self.weight.data.clone()))

    def forward(self, x):
        per_channel = (-1, 1, 1, 1)
        normalised = F.normalize(self.weight.flatten(1), dim=1).view_as(self.weight)
        weight = self.alpha.view(per_channel) * self.delta
        weight = weight + self.beta.view(per_channel) * normalised
        return F.conv2d(x, weight, self.bias, self.stride, self.padding)


class NCReLU(nn.Module):
    def forward(self, x):
        return torch.cat([x.clamp(min=0), x.clamp(max=0)], 1)


class Objects(nn.Module):
    def __init__(self, width=12, depth=3, classes=10):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        layers, inputs = [], width
        for group, outputs in enumerate((width, 2 * width, 4 * width)):
            for _ in range(depth):
                layers += [NCReLU(), DiracConv2d(2 * inputs, outputs, 3, padding=1)]
                layers.append(nn.BatchNorm2d(outputs))
                inputs = outputs
            if group < 2:
                layers.append(nn.MaxPool2d(2))
        self.groups = nn.Sequential(*layers)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = F.relu(self.groups(self.first(x)))
        return self.fc(x.mean((2, 3)))


def build():
    return Objects()


def example_inputs():
    return (torch.rand(4, 3, 32, 32),)
