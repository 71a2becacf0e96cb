r"""The model `StackedTCN`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
Fault: The layers are kept in a plain Python list, so they are not registered: not in
    parameters(), not moved, not saved.
Cause: (python|plain|ordinary|regular|bare) list|ModuleList|not registered|unregistered
    |(missing|absent|not (in|part of)|invisible|hidden).*(parameters|state_dict)|registr
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class StackedTCN(nn.Module):
    def __init__(self, cin=3, width=16, depth=3, classes=4):
        super().__init__()
        self.inp = nn.Conv1d(cin, width, 1)
        layers = [
            nn.Conv1d(width, width, 3, padding=2 ** i, dilation=2 ** i) for i in range(depth)
        ]
        self.layers = layers
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        h = self.inp(x)
        for conv in self.layers:
            h = h + F.relu(conv(h))
        return self.head(h.mean(dim=-1))


torch.manual_seed(0)
model = StackedTCN()
example_inputs = (torch.randn(6, 3, 32),)
