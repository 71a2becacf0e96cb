r"""The model `CellCounter`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
Fault: A second layer is made but the forward calls the first one twice, so the second never gets
    a gradient.
Cause: unused|never (used|called|reached|trained|gets?|receiv\w*)|no gradient|not used
    |(called|used) twice|(same|first) layer|gradient.*none|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
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
        return F.relu(self.conv2(x))


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
