r"""The model `StochasticPolicy`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.func.vmap.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import vmap


class StochasticPolicy(nn.Module):
    def __init__(self, obs=6, hidden=24, actions=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh())
        self.mean = nn.Linear(hidden, actions)
        self.log_std = nn.Linear(hidden, actions)

    def act(self, obs):
        h = self.body(obs)
        mean, std = self.mean(h), F.softplus(self.log_std(h))
        if not self.training:
            return torch.tanh(mean)
        return torch.tanh(mean + std * torch.randn_like(mean))

    def forward(self, obs):
        return vmap(self.act, randomness="different")(obs)


torch.manual_seed(0)
model = StochasticPolicy()
example_inputs = (torch.randn(16, 6),)
