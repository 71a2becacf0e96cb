r"""Mean and spread over the sensors of a station (one or more).

Source: https://docs.pytorch.org/docs/stable/generated/torch.std.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class StatsEncoder(nn.Module):
    """Mean and spread over the sensors of a station (one or more)."""

    def __init__(self, steps=16, hidden=24, out=2):
        super().__init__()
        self.fc1 = nn.Linear(2 * steps, hidden)
        self.fc2 = nn.Linear(hidden, out)

    def forward(self, x):
        # x: [batch, sensors, steps]
        mean = x.mean(dim=1)
        std = x.std(dim=1, correction=0)
        h = F.relu(self.fc1(torch.cat([mean, std], dim=1)))
        return self.fc2(h)


class StationModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = StatsEncoder()

    def forward(self, x):
        return self.encoder(x)


torch.manual_seed(0)
model = StationModel()
example_inputs = (torch.randn(6, 1, 16),)
