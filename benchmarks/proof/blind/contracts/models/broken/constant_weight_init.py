r"""The model `Regressor`.

Source: https://docs.pytorch.org/docs/stable/nn.init.html
Fault: All weights start at the same constant, so the hidden units are identical and get identical
    gradients.
Cause: (constant|identical|same|equal|symmetr)\w*.*(init|weight|unit|neuron|gradient|row)|symmetr
    |(weight|unit|neuron|row|init)\w*.*(identical|constant|same|equal|duplicat)
"""

import torch
import torch.nn as nn


class Regressor(nn.Module):
    def __init__(self, n_in=8, hidden=24, n_out=1):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden),
            nn.Tanh(),
            nn.Linear(hidden, hidden),
            nn.Tanh(),
            nn.Linear(hidden, n_out),
        )
        self.apply(self.init)

    @staticmethod
    def init(m):
        if isinstance(m, nn.Linear):
            nn.init.constant_(m.weight, 0.05)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.net(x).squeeze(-1)


torch.manual_seed(0)
model = Regressor()
example_inputs = (torch.randn(16, 8),)
