r"""Strength of concrete with a measure of doubt; the share of dropped units is learnt.

Source: https://github.com/yaringal/ConcreteDropout
Odd: The soft drop-out masks are drawn in eval mode as well, since several passes give the doubt,
    and their rate is a parameter in logits.
"""

import torch
from torch import nn


class ConcreteDropout(nn.Module):
    def __init__(self, layer, init=0.1, temperature=0.1):
        super().__init__()
        self.layer, self.temperature = layer, temperature
        self.p_logit = nn.Parameter(torch.tensor([init]).logit() + 0.1 * torch.randn(1))

    def forward(self, x):
        eps = 1e-7
        p = torch.sigmoid(self.p_logit)
        u = torch.rand_like(x)
        drop = (p + eps).log() - (1 - p + eps).log() + (u + eps).log() - (1 - u + eps).log()
        keep = 1 - torch.sigmoid(drop / self.temperature)
        return self.layer(x * keep / (1 - p))

    def penalty(self, weight=1e-4, dropout=1e-3):
        p = torch.sigmoid(self.p_logit)
        size = sum(q.square().sum() for q in self.layer.parameters())
        entropy = p * p.log() + (1 - p) * (1 - p).log()
        return weight * size / (1 - p) + dropout * self.layer.in_features * entropy


class ConcreteDoubt(nn.Module):
    def __init__(self, inputs=8, hidden=48, passes=8):
        super().__init__()
        self.passes = passes
        self.register_buffer("mean", torch.tensor([280.0, 74, 54, 181, 6, 973, 774, 46]))
        self.register_buffer("std", torch.tensor([104.0, 86, 64, 21, 6, 78, 80, 63]))
        self.first = ConcreteDropout(nn.Linear(inputs, hidden))
        self.second = ConcreteDropout(nn.Linear(hidden, hidden))
        self.mean_head = ConcreteDropout(nn.Linear(hidden, 1))
        self.logvar_head = ConcreteDropout(nn.Linear(hidden, 1))

    def once(self, x):
        h = torch.relu(self.second(torch.relu(self.first(x))))
        return self.mean_head(h).squeeze(1), self.logvar_head(h).squeeze(1)

    def forward(self, mix):
        x = (mix - self.mean) / self.std
        layers = (self.first, self.second, self.mean_head, self.logvar_head)
        penalty = sum(layer.penalty() for layer in layers)
        if self.training:
            return *self.once(x), penalty
        mean, logvar = zip(*(self.once(x) for _ in range(self.passes)))
        mean, logvar = torch.stack(mean), torch.stack(logvar)
        return mean.mean(0), (mean.var(0) + logvar.exp().mean(0)).log(), penalty


def build():
    return ConcreteDoubt()


def example_inputs():
    mean = torch.tensor([280.0, 74, 54, 181, 6, 973, 774, 46])
    std = torch.tensor([104.0, 86, 64, 21, 6, 78, 80, 63])
    return (mean + std * torch.randn(8, 8).clamp(-0.8, 2),)
