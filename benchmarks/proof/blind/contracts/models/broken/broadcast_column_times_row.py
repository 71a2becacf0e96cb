r"""The model `CalibratedRegressor`.

Source: https://docs.pytorch.org/docs/stable/notes/broadcasting.html
Fault: A [B, 1] prediction is multiplied with a [B] weight, which broadcasts to [B, B] and mixes
    the samples.
Cause: broadcast|\[b, ?b\]|outer|(mix|leak|depend)\w*.*(batch|sample)
    |(batch|sample)s?.*(mix|leak|depend)|shape|squeeze
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
        gain = F.softplus(self.gain(x))
        y = y * gain + self.offset
        y = y * exposure
        return y.mean(dim=1)


torch.manual_seed(0)
model = CalibratedRegressor()
example_inputs = (torch.randn(8, 7), torch.rand(8) + 0.5,)
