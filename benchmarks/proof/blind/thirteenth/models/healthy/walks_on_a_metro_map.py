r"""Vectors of metro stations from rides: near stations against stations drawn at random.

Source: https://docs.pytorch.org/docs/stable/generated/torch.multinomial.html
Healthy: in training the loss differs from call to call, because other stations are drawn by
    multinomial each time; the draw needs no gradient, and in evaluation it is the same each time.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

STATIONS, DRAWN = 40, 5


class StationVectors(nn.Module):
    def __init__(self, visits, dim=16):
        super().__init__()
        self.inner = nn.Embedding(STATIONS, dim)
        self.outer = nn.Embedding(STATIONS, dim)
        nn.init.normal_(self.inner.weight, std=0.3)
        nn.init.normal_(self.outer.weight, std=0.3)
        self.register_buffer("chance", visits.pow(0.75) / visits.pow(0.75).sum())

    def draw(self, number):
        g = None if self.training else torch.Generator().manual_seed(0)
        drawn = torch.multinomial(self.chance, number * DRAWN, replacement=True, generator=g)
        return drawn.view(number, DRAWN)

    def forward(self, station, near):
        a = self.inner(station)
        right = (a * self.outer(near)).sum(-1)
        wrong = (a.unsqueeze(1) * self.outer(self.draw(len(station)))).sum(-1)
        return -(F.logsigmoid(right) + F.logsigmoid(-wrong).sum(-1)).mean()


def make_rides(n, seed):
    g = torch.Generator().manual_seed(seed)
    station = torch.randint(0, STATIONS, (n,), generator=g)
    step = torch.randint(1, 4, (n,), generator=g) * (1 - 2 * torch.randint(0, 2, (n,), generator=g))
    return station, (station + step) % STATIONS


def build():
    torch.manual_seed(0)
    station, near = make_rides(2000, seed=14)
    visits = torch.bincount(torch.cat([station, near]), minlength=STATIONS).float()
    return StationVectors(visits)


def example_inputs():
    return make_rides(512, seed=15)
