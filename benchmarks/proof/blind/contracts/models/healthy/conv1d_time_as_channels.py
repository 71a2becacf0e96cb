r"""Window of 24 hours with 24 measured quantities per hour.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv1d.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class EnergyForecaster(nn.Module):
    """Window of 24 hours with 24 measured quantities per hour."""

    def __init__(self, quantities=24, width=32):
        super().__init__()
        self.conv1 = nn.Conv1d(quantities, width, kernel_size=3, padding=1)
        self.conv2 = nn.Conv1d(width, width, kernel_size=3, padding=1)
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        # x: [batch, hours, quantities]
        x = x.transpose(1, 2)
        h = F.relu(self.conv1(x))
        h = F.relu(self.conv2(h))
        return self.head(self.pool(h).squeeze(-1))


torch.manual_seed(0)
model = EnergyForecaster()
example_inputs = (torch.randn(8, 24, 24),)
