r"""Variational model of patient rows, to draw synthetic ones.

Source: https://github.com/vanderschaarlab/synthcity/issues/331
Fault: The log-variance has no bounds, and its exponential overflows in the reparametrisation and
    in the divergence.
Cause: \bexp(onential\w*|onentiat\w*)?\b.{0,100}(overflow|\binf|explod|unbounded|clamp|blow|large
    |\bnan)
    |(log.?var\w*|\bstd\b|variance).{0,80}(clamp|bound|overflow|explod|\binf|\bnan|huge|clip)
    |(overflow|unbounded|clamp|clip).{0,80}(\bexp|log.?var|\bstd\b|variance)
Place: log_?var|logvar|\bstd\b|sigma
"""

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, columns, latent, hidden=96):
        super().__init__()
        self.shared = nn.Sequential(
            nn.Linear(columns, hidden),
            nn.LeakyReLU(),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(),
        )
        self.mu_fc = nn.Linear(hidden, latent)
        self.logvar_fc = nn.Linear(hidden, latent)

    def forward(self, x):
        h = self.shared(x)
        mu = self.mu_fc(h)
        logvar = self.logvar_fc(h)  # here
        return mu, logvar


class PatientRows(nn.Module):
    def __init__(self, columns=6, latent=8, hidden=96):
        super().__init__()
        self.encoder = Encoder(columns, latent, hidden)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden),
            nn.LeakyReLU(),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(),
            nn.Linear(hidden, columns),
        )

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        mu, logvar = self.encoder(x)
        z = self.reparameterize(mu, logvar)
        kld = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum(1)
        return self.decoder(z), kld


def build():
    return PatientRows()


def example_inputs():
    age = torch.randint(20, 90, (8, 1)).float()
    cells = torch.randint(3000, 9000, (8, 2)).float()
    return (torch.cat([age, cells, 5 * torch.randn(8, 3) + 100], dim=1),)
