r"""The model `NextValue`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv1d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CausalConv(nn.Module):
    def __init__(self, cin, cout, kernel=3, dilation=1):
        super().__init__()
        self.left = (kernel - 1) * dilation
        self.conv = nn.Conv1d(cin, cout, kernel, dilation=dilation)

    def forward(self, x):
        return self.conv(F.pad(x, (self.left, 0)))


class NextValue(nn.Module):
    def __init__(self, channels=4, width=24):
        super().__init__()
        self.c1 = CausalConv(channels, width, dilation=1)
        self.c2 = CausalConv(width, width, dilation=2)
        self.out = nn.Conv1d(width, channels, 1)

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.relu(self.c2(x))
        return self.out(x)


torch.manual_seed(0)
model = NextValue()
example_inputs = (torch.randn(4, 4, 32),)
