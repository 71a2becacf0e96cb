r"""The model `CellCounter`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class DoubleConv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.conv3 = nn.Conv2d(cout, cout, 3, padding=1)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return F.relu(self.conv3(x))


class CellCounter(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.block = DoubleConv(1, width)
        self.density = nn.Conv2d(width, 1, 1)

    def forward(self, img):
        d = F.softplus(self.density(self.block(img)))
        return d.sum(dim=(1, 2, 3))


torch.manual_seed(0)
model = CellCounter()
example_inputs = (torch.randn(4, 1, 16, 16),)
