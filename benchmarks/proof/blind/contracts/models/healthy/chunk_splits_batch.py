r"""The model `StateVAE`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.chunk.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class StateVAE(nn.Module):
    def __init__(self, n_in=16, hidden=32, latent=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.dec = nn.Sequential(
            nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, n_in)
        )

    def reparameterise(self, mu, logvar):
        if not self.training:
            return mu
        return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=-1)
        z = self.reparameterise(mu, logvar)
        return self.dec(z), mu, logvar


torch.manual_seed(0)
model = StateVAE()
example_inputs = (torch.randn(8, 16),)
