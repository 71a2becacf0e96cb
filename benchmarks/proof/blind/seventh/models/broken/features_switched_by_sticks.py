r"""Latent features that are on or off by a stick-breaking prior, with Gaussian strengths.

Source: https://github.com/rachtsingh/ibp_vae/issues/3
Fault: The noise is multiplied by exp(logvar), which is the variance; the standard deviation is
    exp(0.5 * logvar).
Cause: (variance|logvar|log.var\w*).{0,100}(\bstd\b|0\.5|half|sqrt|square root|instead of the)
    |(\bstd\b|standard dev\w*|sigma|noise).{0,100}(variance|0\.5|half|exp\(|logvar|squared)
Place: logvar|reparametrize_gaussian|\bnoise\b|\bstd\b
"""

import torch
import torch.nn.functional as F
from torch import nn


def reparametrize_gaussian(mu, logvar):
    noise = torch.randn_like(mu)
    return mu + noise * logvar.exp()  # here


def stick_breaking(a, b):
    u = torch.rand_like(a).clamp(1e-4, 1 - 1e-4)
    v = (1 - u.pow(1 / b)).clamp(1e-6, 1 - 1e-6).pow(1 / a)
    return v.clamp(1e-6, 1 - 1e-6).log().cumsum(-1)


def relaxed_bernoulli(log_p, logits, temperature):
    p = log_p.exp().clamp(1e-6, 1 - 1e-6)
    u = torch.rand_like(logits).clamp(1e-6, 1 - 1e-6)
    noise = u.log() - (-u).log1p()
    return torch.sigmoid((p.log() - (-p).log1p() + logits + noise) / temperature)


class SwitchedFeatures(nn.Module):
    def __init__(self, inputs=64, hidden=64, features=20, alpha=4.0):
        super().__init__()
        self.beta_a = nn.Parameter(torch.full((features,), alpha).expm1().log())
        self.beta_b = nn.Parameter(torch.ones(features).expm1().log())
        self.encoder = nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU())
        self.logits, self.mu = nn.Linear(hidden, features), nn.Linear(hidden, features)
        self.logvar = nn.Linear(hidden, features)
        nn.init.constant_(self.logvar.bias, -2.0)
        self.decoder = nn.Sequential(
            nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, inputs)
        )

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        a, b = F.softplus(self.beta_a) + 0.01, F.softplus(self.beta_b) + 0.01
        log_prior = stick_breaking(a.expand_as(mu), b.expand_as(mu))
        switch = relaxed_bernoulli(log_prior, self.logits(h), 0.3 if self.training else 0.1)
        strength = reparametrize_gaussian(mu, logvar)
        kl = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).sum(1)
        return self.decoder(switch * strength), kl


def build():
    return SwitchedFeatures()


def example_inputs():
    return (torch.rand(8, 64).round(),)
