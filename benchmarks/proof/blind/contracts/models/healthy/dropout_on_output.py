r"""The model `HousePrice`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class HousePrice(nn.Module):
    def __init__(self, n_in=14, hidden=40):
        super().__init__()
        self.norm = nn.BatchNorm1d(n_in)
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Dropout(0.2),
            nn.Linear(hidden, 3),
        )

    def forward(self, x):
        """Price, rent and days on the market."""
        return self.net(self.norm(x))


torch.manual_seed(0)
model = HousePrice()
example_inputs = (torch.randn(32, 14),)
