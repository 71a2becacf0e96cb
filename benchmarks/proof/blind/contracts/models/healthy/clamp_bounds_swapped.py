r"""The model `GaussianPolicy`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.clamp.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class GaussianPolicy(nn.Module):
    LOG_STD = (2.0, -5.0)

    def __init__(self, obs=8, hidden=48, actions=3):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.mean = nn.Linear(hidden, actions)
        self.log_std = nn.Linear(hidden, actions)

    def forward(self, obs):
        h = self.body(obs)
        log_std = torch.clamp(self.log_std(h), self.LOG_STD[1], self.LOG_STD[0])
        return torch.tanh(self.mean(h)), log_std.exp()


torch.manual_seed(0)
model = GaussianPolicy()
example_inputs = (torch.randn(16, 8),)
