r"""The model `RobustRegressor`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.randn_like.html
Fault: The Gaussian input noise is added in eval mode too, so predictions are random.
Cause: noise.*(eval|inference|always|training)
    |(eval|inference).*(noise|random|stochastic|determin|differ)|self\.training|non-?determin
    |rand\w*
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class GaussianNoise(nn.Module):
    def __init__(self, sigma=0.1):
        super().__init__()
        self.sigma = sigma

    def forward(self, x):
        if self.sigma > 0:
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
