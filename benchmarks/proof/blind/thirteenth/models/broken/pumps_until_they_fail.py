r"""Lifetimes of pumps by a Weibull law whose scale comes from the working conditions.

Source: https://docs.pytorch.org/docs/stable/distributions.html#weibull
Fault: Weibull takes the scale first and the concentration (shape) second, but the shape is given
    first, so the network sets the shape of the law and one number its scale.
Cause: Weibull.{0,80}(argument|order|scale|concentration|shape|swap)
    |(scale|shape|concentration).{0,80}(swap|exchang|interchang|revers|wrong (order|way)|mixed)
    |(swap|exchang|interchang|revers|wrong order|in place of).{0,80}(scale|shape|concentration)
    |passes? the (shape|concentration).{0,40}(as|for|where).{0,20}scale
Place: Weibull|dist\b|log_shape|shape|scale
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Weibull

FEATURES = 5


class PumpLife(nn.Module):
    def __init__(self, features=FEATURES, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(features, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 1),
        )
        self.log_shape = nn.Parameter(torch.zeros(1))

    def lifetime(self, conditions):
        scale = F.softplus(self.net(conditions).squeeze(-1)) + 1e-3
        shape = self.log_shape.exp().expand_as(scale)
        return Weibull(shape, scale)  # here

    def forward(self, conditions, hours, failed):
        dist = self.lifetime(conditions)
        log_density = dist.log_prob(hours)
        log_survival = -(hours / dist.scale) ** dist.concentration
        return -torch.where(failed, log_density, log_survival).mean()

    @torch.no_grad()
    def expected_hours(self, conditions):
        return self.lifetime(conditions).mean


def make_pumps(n, seed):
    g = torch.Generator().manual_seed(seed)
    conditions = torch.rand(n, FEATURES, generator=g) * 2 - 1
    scale = torch.exp(0.5 + 0.9 * conditions[:, 0] - 0.7 * conditions[:, 1])
    hours = scale * (-torch.log(torch.rand(n, generator=g).clamp(min=1e-6))) ** (1 / 2.5)
    stop = 1.0 + 3.0 * torch.rand(n, generator=g)
    failed = hours < stop
    return conditions, torch.minimum(hours, stop).clamp(min=1e-3), failed


def build():
    torch.manual_seed(0)
    return PumpLife()


def example_inputs():
    return make_pumps(128, seed=1)
