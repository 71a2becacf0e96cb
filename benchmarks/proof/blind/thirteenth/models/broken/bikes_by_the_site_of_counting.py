r"""Counts of bicycles at a site: a small network writes the weights of the last layer for a site.

Source: https://discuss.pytorch.org/t/47645
Fault: the generated weights are wrapped in nn.Parameter, which starts a new leaf without history,
    so no gradient reaches the network (and the site vectors) that made them.
Cause: nn\.?Parameter.{0,100}(detach|leaf|graph|history|gradient|cut|new|forward|wrap|every)
    |(wrap|re-?creat|new|assign|replac|overwrit).{0,60}Parameter
    |Parameter.{0,60}(is|are|was).{0,20}(replac|creat|made|overwrit|wrapp)
    |(generated|made|produced|computed) weights?.{0,80}(detach|graph|gradient|cut|leaf)
    |(detach|cut).{0,60}(generated weights?|writer|from the graph)
    |(weights?|writer).{0,60}(detached|cut off|leaf)
Place: writer|site|last|Parameter|weight
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SITES, INPUTS = 6, 8


class SiteCounter(nn.Module):
    def __init__(self, sites=SITES, dim=16, hidden=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(INPUTS, hidden), nn.Tanh())
        self.site = nn.Embedding(sites, dim)
        self.writer = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, hidden))
        self.last = nn.Linear(hidden, 1)

    def forward(self, weather, site, counts):
        features = self.body(weather)
        weight = self.writer(self.site(site)).view(1, -1)
        self.last.weight = nn.Parameter(weight)  # here
        predicted = self.last(features).squeeze(-1)
        return F.mse_loss(predicted, counts)


def make_hours(n, site, seed):
    g = torch.Generator().manual_seed(seed)
    weather = torch.randn(n, INPUTS, generator=g)
    sites = torch.Generator().manual_seed(77)
    rule = torch.randn(SITES, INPUTS, generator=sites)
    counts = torch.tanh(weather @ rule[site]) * (1 + site / 3)
    return weather, torch.tensor(site), counts


def build():
    torch.manual_seed(0)
    return SiteCounter()


def example_inputs():
    return make_hours(64, site=2, seed=6)
