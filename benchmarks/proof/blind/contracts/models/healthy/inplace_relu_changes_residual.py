r"""The model `Restorer`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ReLU.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class PreActBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.act = nn.ReLU()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        h = self.conv1(self.act(x))
        h = self.conv2(F.relu(h))
        return x + h


class Restorer(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.inp = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.Sequential(PreActBlock(width), PreActBlock(width))
        self.out = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        return self.out(self.blocks(self.inp(x)))


torch.manual_seed(0)
model = Restorer()
example_inputs = (torch.randn(4, 3, 16, 16),)
