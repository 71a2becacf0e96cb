r"""Imputer of series with missing values, with reversible normalisation of each series.

Source: https://github.com/WenjieDu/PyPOTS/issues/453
Fault: With missing values the division by the standard deviation is left out, but the output is
    multiplied by it.
Cause: (standard deviation|stdev|\bstd\b|normali[sz]\w+).*(not|never|only|missing|without)
    |(not|un)[ -]?normali[sz]ed|(scale|magnitude|spread)\w* .*(input|large|hundred|differ)
    |(too|very) large|saturat\w+
Place: revin|RevIN|stdev
"""

import torch
from torch import nn


class RevIN(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.affine_weight = nn.Parameter(torch.ones(features))
        self.affine_bias = nn.Parameter(torch.zeros(features))

    def normalise(self, x, missing_mask=None):
        if missing_mask is None:
            self.mean = x.mean(1, keepdim=True).detach()
            self.stdev = (x.var(1, keepdim=True, unbiased=False) + self.eps).sqrt().detach()
            x = (x - self.mean) / self.stdev
        else:
            count = missing_mask.sum(1, keepdim=True) + 1e-9
            self.mean = (x.sum(1, keepdim=True) / count).detach()
            x = (x - self.mean).masked_fill(missing_mask == 0, 0)
            self.stdev = (x.square().sum(1, keepdim=True) / count + self.eps).sqrt().detach()
            # here the values are still of the scale of the series
        return x * self.affine_weight + self.affine_bias  # here

    def denormalise(self, x):
        x = (x - self.affine_bias) / (self.affine_weight + self.eps**2)
        return x * self.stdev + self.mean


class Imputer(nn.Module):
    def __init__(self, features=5, dim=24):
        super().__init__()
        self.revin = RevIN(features)
        self.embed = nn.Linear(2 * features, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * dim, features)

    def forward(self, x, mask):
        y = self.revin.normalise(x * mask, mask)
        y = torch.tanh(self.embed(torch.cat([y, mask], -1)))
        return self.revin.denormalise(self.output(self.encoder(y)[0]))


def build():
    return Imputer()


def example_inputs():
    x = 40 + 120 * torch.randn(6, 24, 5)
    return x, (torch.rand(6, 24, 5) < 0.8).float()
