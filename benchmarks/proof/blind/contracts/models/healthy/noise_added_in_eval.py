r"""The model `RobustRegressor`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.randn_like.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GaussianNoise(nn.Module):
    def __init__(self, sigma=0.1):
        super().__init__()
        self.sigma = sigma

    def forward(self, x):
        if self.training and self.sigma > 0:
            x = x + self.sigma * torch.randn_like(x)
        return x


class RobustRegressor(nn.Module):
    def __init__(self, n_in=9, hidden=32, out=2):
        super().__init__()
        self.noise = GaussianNoise(0.1)
        self.fc1 = nn.Linear(n_in, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, out)

    def forward(self, x):
        h = F.silu(self.fc1(self.noise(x)))
        h = F.silu(self.fc2(h))
        return self.fc3(h)


torch.manual_seed(0)
model = RobustRegressor()
example_inputs = (torch.randn(8, 9),)
