r"""The model `HeartbeatNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool1d.html
Fault: The length 30 is not divisible by the pooling window 8 and ceil_mode is off, so the last 6
    steps are never used.
Cause: ceil_mode
    |(tail|last|end|remaining|trailing|rest).*(step|sample|frame|element|drop|ignor|never|unused|discard|cut)
    |not divisib|drop\w* .*(step|sample|frame)|no gradient.*input|zero gradient
    |gradient\w* (is|are|of|stays?)( exactly)? (none|zero|0)
    |(never|not) (gets?|receiv\w+) (a |any )?gradient|gets no grad
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class HeartbeatNet(nn.Module):
    def __init__(self, leads=2, width=16, classes=4):
        super().__init__()
        self.conv = nn.Conv1d(leads, width, 1)
        self.pool = nn.AvgPool1d(8)
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
