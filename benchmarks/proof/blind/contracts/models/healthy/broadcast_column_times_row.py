r"""The model `CalibratedRegressor`.

Source: https://docs.pytorch.org/docs/stable/notes/broadcasting.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class CalibratedRegressor(nn.Module):
    def __init__(self, n_in=7, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.gain = nn.Linear(n_in, 1)
        self.offset = nn.Parameter(torch.zeros(1))

    def forward(self, x, exposure):
        # x: [batch, features], exposure: [batch]
        y = self.net(x)
        gain = F.softplus(self.gain(x)).squeeze(1)
        y = y.squeeze(1) * gain + self.offset
        y = y * exposure
        return y


torch.manual_seed(0)
model = CalibratedRegressor()
example_inputs = (torch.randn(8, 7), torch.rand(8) + 0.5,)
