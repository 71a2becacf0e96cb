"""A Gaussian policy with one free deviation for each action.

Source: https://github.com/leggedrobotics/rsl_rl/pull/190
Odd: log_std is a bare parameter that no layer touches; the log-probability trains it.
"""

import torch
from torch import nn


class GaussianPolicy(nn.Module):
    def __init__(self, obs=6, act=3):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(obs, 32), nn.ELU(), nn.Linear(32, act))
        self.log_std = nn.Parameter(torch.zeros(act))

    def forward(self, obs, actions):
        std = self.log_std.clamp(-5, 2).exp().expand(obs.size(0), -1)
        dist = torch.distributions.Normal(self.actor(obs), std)
        return {"loss": -dist.log_prob(actions).sum(-1).mean(), "std": std}


def example_inputs():
    return (
        torch.randn(32, 6),
        torch.randn(32, 3),
    )
