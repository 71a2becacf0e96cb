r"""Median of the load on a feeder line at noon, from the hours before and the weather.

Source: https://docs.pytorch.org/docs/stable/notes/broadcasting.html
Fault: the prediction loses its last axis by squeeze() and the target keeps it, so their
    difference is a square table of every prediction against every target.
Cause: broadcast|squeez.{0,100}(shape|axis|dimension|target|load|predict)
    |(shape|dimension|axis|axes).{0,80}(differ|mismatch|do not match|unequal|not the same)
    |(every|each) (prediction|target|element).{0,60}(every|each|all)
    |(square|n x n|batch by batch|pairwise) (table|matrix|difference)
    |all pairs
Place: squeeze|predicted|error|target|load|out
"""
import torch
import torch.nn as nn

HOURS, WEATHER = 12, 4


class NoonLoad(nn.Module):
    def __init__(self, quantile=0.5, hidden=48):
        super().__init__()
        self.quantile = quantile
        self.past = nn.GRU(1, 16, batch_first=True)
        self.out = nn.Sequential(
            nn.Linear(16 + WEATHER, hidden), nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    def predict(self, past, weather):
        _, last = self.past(past.unsqueeze(-1))
        return self.out(torch.cat([last[-1], weather], dim=-1)).squeeze()  # here

    def forward(self, past, weather, load):
        error = load - self.predict(past, weather)
        return torch.maximum(self.quantile * error, (self.quantile - 1) * error).mean()


def make_days(n, seed):
    g = torch.Generator().manual_seed(seed)
    level = torch.randn(n, 1, generator=g)
    past = level + 0.3 * torch.randn(n, HOURS, generator=g)
    weather = torch.randn(n, WEATHER, generator=g)
    load = level + 0.8 * weather[:, :1] - 0.5 * weather[:, 1:2].abs()
    return past, weather, load + 0.1 * torch.randn(n, 1, generator=g)


def build():
    torch.manual_seed(0)
    return NoonLoad()


def example_inputs():
    return make_days(64, seed=12)
