r"""The model `MoistureNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.clamp.html
Fault: The prediction is forced into [0, 1] with clamp, whose gradient is zero outside, so wrong
    outputs cannot be corrected.
Cause: clamp|clip|hard (limit|bound)|(zero|no|vanish\w*) gradient|saturat
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MoistureNet(nn.Module):
    def __init__(self, bands=6, width=24):
        super().__init__()
        self.conv1 = nn.Conv2d(bands, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        h = F.relu(self.conv1(x))
        h = F.relu(self.conv2(h))
        y = self.out(h)
        return torch.clamp(y, 0.0, 1.0)


torch.manual_seed(0)
model = MoistureNet()
example_inputs = (torch.randn(4, 6, 16, 16),)
