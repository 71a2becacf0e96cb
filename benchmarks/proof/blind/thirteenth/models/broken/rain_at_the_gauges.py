r"""Predicts the amount of rain at a gauge, as a gamma law around a mean from the weather.

Source: https://docs.pytorch.org/docs/stable/distributions.html#gamma
Fault: the second argument of Gamma is the rate (one over the scale), but it gets the scale, mean
    divided by shape, so the law fits only if the network puts out the inverse of the mean.
Cause: \brate\b.{0,80}(scale|inverse|invers|reciprocal|argument|second|mean)
    |(scale|reciprocal|inverse).{0,80}\brate\b
    |Gamma.{0,80}(rate|scale|second argument|parametri[sz])
Place: Gamma|rate|scale|mean|shape
"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Gamma

WEATHER = 6


class RainAtGauge(nn.Module):
    def __init__(self, weather=WEATHER, stations=12, dim=8):
        super().__init__()
        self.station = nn.Embedding(stations, dim)
        self.body = nn.Sequential(
            nn.Linear(weather + dim, 48), nn.GELU(),
            nn.Linear(48, 48), nn.GELU(),
        )
        self.to_mean = nn.Linear(48, 1)
        self.raw_shape = nn.Parameter(torch.tensor(1.0))

    def expected_rain(self, weather, station):
        h = self.body(torch.cat([weather, self.station(station)], dim=-1))
        return F.softplus(self.to_mean(h)).squeeze(-1) + 1e-2

    def forward(self, weather, station, rain=None):
        mean = self.expected_rain(weather, station)
        if rain is None:
            return mean
        shape = F.softplus(self.raw_shape) + 1e-2
        law = Gamma(shape, mean / shape)  # here
        return -law.log_prob(rain).mean()


def make_days(n, seed):
    g = torch.Generator().manual_seed(seed)
    weather = torch.randn(n, WEATHER, generator=g)
    station = torch.randint(0, 12, (n,), generator=g)
    mean = torch.exp(0.6 * weather[:, 0] - 0.4 * weather[:, 1] + 0.05 * station)
    shape = torch.full((n,), 2.0)
    torch.manual_seed(seed)
    rain = Gamma(shape, shape / mean).sample().clamp(min=1e-3)
    return weather, station, rain


def build():
    torch.manual_seed(0)
    return RainAtGauge()


def example_inputs():
    return make_days(128, seed=5)
