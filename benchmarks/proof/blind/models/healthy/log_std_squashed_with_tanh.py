"""An actor of SAC whose log deviation is squashed into bounds.

Source: https://github.com/denisyarats/pytorch_sac/issues/7
Odd: the deviation saturates at its bounds, by tanh instead of clamp, so gradients remain.
"""

import torch
from torch import nn


class DiagGaussianActor(nn.Module):
    def __init__(self, obs=6, act=2, hidden=32, log_std_bounds=(-5, 2)):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU(), nn.Linear(hidden, 2 * act))
        self.log_std_bounds = log_std_bounds

    def forward(self, obs, expert):
        mu, log_std = self.trunk(obs).chunk(2, dim=-1)
        low, high = self.log_std_bounds
        log_std = low + 0.5 * (high - low) * (torch.tanh(log_std) + 1)
        dist = torch.distributions.Normal(mu, log_std.exp())
        return {"loss": -dist.log_prob(expert).sum(-1).mean(), "mu": mu}


def example_inputs():
    return (
        torch.randn(32, 6),
        torch.randn(32, 2),
    )
