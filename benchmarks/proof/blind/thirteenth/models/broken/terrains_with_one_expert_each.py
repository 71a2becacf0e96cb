r"""Travel time over several terrains, where a router sends each stretch to one of four experts.

Source: https://github.com/davidmrau/mixture-of-experts/issues/27
Fault: the softmax runs over the scores of the chosen experts only, and just one is chosen, so
    the gate is always exactly 1 and the router never gets a gradient.
Cause: softmax.{0,100}(one|single|1\b|chosen|selected|top|after)
    |(gate|weight)s?.{0,60}(always|constant|exactly|is).{0,20}(1\b|1\.0|one\b)
    |top[- _]?k?.{0,40}(\b1\b|one).{0,60}softmax
Place: router|gate|softmax|top|scores
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

TERRAINS, FEATURES = 4, 10


class RoutedExperts(nn.Module):
    def __init__(self, dim, experts=4, top_k=1):
        super().__init__()
        self.top_k = top_k
        self.router = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, dim))
            for _ in range(experts)
        )

    def forward(self, x):
        scores = self.router(x)
        top, index = scores.topk(self.top_k, dim=-1)
        gate = top.softmax(dim=-1)  # here
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            for slot in range(self.top_k):
                rows = (index[:, slot] == number).nonzero().flatten()
                part = expert(x[rows]) * gate[rows, slot].unsqueeze(-1)
                out = out.index_add(0, rows, part)
        return out


class TravelTime(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(FEATURES, dim), nn.Tanh())
        self.mixture = RoutedExperts(dim)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, 1)

    def forward(self, stretch, minutes):
        h = self.embed(stretch)
        h = self.norm(h + self.mixture(h))
        return F.mse_loss(self.out(h).squeeze(-1), minutes)


def make_stretches(n, seed):
    g = torch.Generator().manual_seed(seed)
    terrain = torch.randint(0, TERRAINS, (n,), generator=g)
    numbers = torch.randn(n, FEATURES - TERRAINS, generator=g)
    rules = torch.randn(TERRAINS, FEATURES - TERRAINS, generator=torch.Generator().manual_seed(9))
    minutes = (numbers * rules[terrain]).sum(-1)
    stretch = torch.cat([F.one_hot(terrain, TERRAINS).float(), numbers], dim=-1)
    return stretch, minutes


def build():
    torch.manual_seed(0)
    return TravelTime()


def example_inputs():
    return make_stretches(128, seed=10)
