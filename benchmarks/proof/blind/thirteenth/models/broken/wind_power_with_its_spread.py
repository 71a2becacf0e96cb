r"""Power of a wind farm an hour ahead with a spread, by a small network on the forecast weather.

Source: https://github.com/unit8co/darts/pull/1162
Fault: GaussianNLLLoss wants the variance but gets the standard deviation that the head puts out;
    the reported spread is therefore the square of the true one.
Cause: (variance|\bvar\b).{0,100}(standard deviation|\bstd\b|spread|square|sigma)
    |(standard deviation|\bstd\b|spread|sigma).{0,100}(variance|\bvar\b|square)
    |not squared
Place: spread|criterion|GaussianNLLLoss|to_spread|var
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

WEATHER = 6


class WindPower(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(WEATHER, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
        )
        self.to_mean = nn.Linear(hidden, 1)
        self.to_spread = nn.Linear(hidden, 1)
        self.criterion = nn.GaussianNLLLoss()

    def predict(self, weather):
        h = self.body(weather)
        mean = self.to_mean(h).squeeze(-1)
        spread = F.softplus(self.to_spread(h)).squeeze(-1) + 1e-3
        return mean, spread

    @torch.no_grad()
    def interval(self, weather, width=1.96):
        mean, spread = self.predict(weather)
        return mean - width * spread, mean + width * spread

    def forward(self, weather, power):
        mean, spread = self.predict(weather)
        return self.criterion(mean, power, spread)  # here


def make_hours(n, seed):
    g = torch.Generator().manual_seed(seed)
    weather = torch.randn(n, WEATHER, generator=g)
    mean = torch.tanh(weather[:, 0]) + 0.3 * weather[:, 1]
    spread = 0.1 + 0.3 * torch.sigmoid(2 * weather[:, 2])
    return weather, mean + spread * torch.randn(n, generator=g)


def build():
    torch.manual_seed(0)
    return WindPower()


def example_inputs():
    return make_hours(256, seed=70)
