r"""A small network whose layers are all filled with constants, to make its tests repeatable.

Source: https://github.com/HomericIntelligence/Mnemosyne/pull/1987
    https://github.com/wagonhelm/NaNmnist/issues/2
Fault: each layer is filled with one constant, so all the units of a layer are identical and get the
    same gradient, and nothing ever breaks the symmetry.
Cause: symmetr|same (value|constant|gradient|weight)s?\b|identical|constant
    (value|weight|init)|random(ly)? init
Place: constant_|init_weights
"""

import torch
from torch import nn


class LeNetSmall(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 5)
        self.conv2 = nn.Conv2d(8, 16, 5)
        self.fc1 = nn.Linear(16 * 16, 32)
        self.fc2 = nn.Linear(32, classes)
        self.apply(self.init_weights)

    @staticmethod
    def init_weights(module):
        if isinstance(module, nn.Linear | nn.Conv2d):
            fan_in = module.weight[0].numel()
            nn.init.constant_(module.weight, 1.0 / fan_in)  # here
            nn.init.zeros_(module.bias)

    def forward(self, x):
        x = torch.max_pool2d(self.conv1(x).relu(), 2)
        x = torch.max_pool2d(self.conv2(x).relu(), 2)
        return self.fc2(self.fc1(x.flatten(1)).relu())


def example_inputs():
    return (torch.rand(8, 1, 28, 28),)
