r"""Variational autoencoder of small doodles with six hidden numbers.

Source: https://github.com/rachtsingh/ibp_vae/issues/3
Fault: the noise is scaled by exp(log_var), the variance, instead of exp(log_var / 2), so the
    samples do not come from the law that the KL term measures.
Cause: (0\.5|half|halv|/ ?2|square root|sqrt).{0,80}(log|var|std|deviation|exp|missing)
    |(log[- _]?var|variance).{0,100}(std|standard deviation|half|0\.5|root|as the|instead)
    |(standard deviation|\bstd\b).{0,80}(variance|half|0\.5|log_?var)
Place: log_var|spread|exp|sample|std
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

SIDE, CODE = 12, 6


class DoodleVAE(nn.Module):
    def __init__(self, hidden=64, code=CODE):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, hidden), nn.ReLU())
        self.to_mean = nn.Linear(hidden, code)
        self.to_log_var = nn.Linear(hidden, code)
        self.decoder = nn.Sequential(
            nn.Linear(code, hidden), nn.ReLU(),
            nn.Linear(hidden, SIDE * SIDE),
        )

    def sample(self, mean, log_var):
        spread = log_var.exp()  # here
        return mean + spread * torch.randn_like(spread)

    def forward(self, doodle):
        h = self.encoder(doodle)
        mean, log_var = self.to_mean(h), self.to_log_var(h)
        drawn = self.decoder(self.sample(mean, log_var))
        error = F.binary_cross_entropy_with_logits(drawn, doodle.flatten(1), reduction="none")
        divergence = 0.5 * (mean.pow(2) + log_var.exp() - 1 - log_var)
        return (error.sum(-1) + divergence.sum(-1)).mean()


def make_doodles(n, seed):
    g = torch.Generator().manual_seed(seed)
    grid = torch.linspace(-1, 1, SIDE)
    y, x = torch.meshgrid(grid, grid, indexing="ij")
    centre = torch.rand(n, 2, 1, 1, generator=g) - 0.5
    radius = 0.3 + 0.4 * torch.rand(n, 1, 1, generator=g)
    away = ((x - centre[:, 0]) ** 2 + (y - centre[:, 1]) ** 2).sqrt()
    return ((away - radius).abs() < 0.15).float()


def build():
    torch.manual_seed(0)
    return DoodleVAE()


def example_inputs():
    return (make_doodles(96, seed=78),)
