r"""Orders radio stations for a listener from pairs: one heard to the end, one switched off.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.logsigmoid.html
Healthy: the scores are used only as differences, so they have no fixed level and no bias for the
    listener; the loss starts at ln 2 because the start values are small.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

LISTENERS, STATIONS = 30, 25


class StationRanking(nn.Module):
    def __init__(self, dim=10, decay=1e-4):
        super().__init__()
        self.decay = decay
        self.listener = nn.Embedding(LISTENERS, dim)
        self.station = nn.Embedding(STATIONS, dim)
        self.favour = nn.Embedding(STATIONS, 1)
        nn.init.normal_(self.listener.weight, std=0.1)
        nn.init.normal_(self.station.weight, std=0.1)
        nn.init.zeros_(self.favour.weight)

    def score(self, listener, station):
        match = (self.listener(listener) * self.station(station)).sum(-1)
        return match + self.favour(station).squeeze(-1)

    def forward(self, listener, heard, left):
        better = self.score(listener, heard) - self.score(listener, left)
        size = self.listener(listener).pow(2).sum(-1) + self.station(heard).pow(2).sum(-1)
        return (-F.logsigmoid(better) + self.decay * size).mean()


def make_pairs(n, seed):
    g = torch.Generator().manual_seed(seed)
    world = torch.Generator().manual_seed(21)
    taste = torch.randn(LISTENERS, 3, generator=world)
    style = torch.randn(STATIONS, 3, generator=world)
    listener = torch.randint(0, LISTENERS, (n,), generator=g)
    one = torch.randint(0, STATIONS, (n,), generator=g)
    two = (one + torch.randint(1, STATIONS, (n,), generator=g)) % STATIONS
    first = (taste[listener] * (style[one] - style[two])).sum(-1) > 0
    return listener, torch.where(first, one, two), torch.where(first, two, one)


def build():
    torch.manual_seed(0)
    return StationRanking()


def example_inputs():
    return make_pairs(512, seed=22)
