r"""The model `HeartbeatNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool1d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class HeartbeatNet(nn.Module):
    def __init__(self, leads=2, width=16, classes=4):
        super().__init__()
        self.conv = nn.Conv1d(leads, width, 1)
        self.pool = nn.AvgPool1d(8, ceil_mode=True)
        self.mix = nn.Conv1d(width, width, 3, padding=1)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = F.relu(self.conv(x))
        h = self.pool(h)
        h = F.relu(self.mix(h))
        return self.head(h.amax(dim=-1))


torch.manual_seed(0)
model = HeartbeatNet()
example_inputs = (torch.randn(8, 2, 30),)
