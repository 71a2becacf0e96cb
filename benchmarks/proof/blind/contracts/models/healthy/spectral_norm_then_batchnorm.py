r"""1-Lipschitz critic.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrizations.spectral_norm.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm


class Critic(nn.Module):
    """1-Lipschitz critic."""

    def __init__(self, cin=3, width=16):
        super().__init__()
        self.net = nn.Sequential(
            spectral_norm(nn.Conv2d(cin, width, 4, stride=2, padding=1)),
            nn.LeakyReLU(0.2),
            spectral_norm(nn.Conv2d(width, 2 * width, 4, stride=2, padding=1)),
            nn.LeakyReLU(0.2),
        )
        self.score = spectral_norm(nn.Linear(2 * width, 1))

    def forward(self, x):
        h = self.net(x).mean(dim=(2, 3))
        return self.score(h).squeeze(1)


torch.manual_seed(0)
model = Critic()
example_inputs = (torch.randn(8, 3, 16, 16),)
