r"""The model `StateVAE`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.chunk.html
Fault: chunk(2) splits dimension 0, the batch, by default, so the mean and the log-variance come
    from different samples.
Cause: chunk|split\w*.*(batch|dim|default|sample|0)|half (of )?the (batch|samples)
    |(batch|sample)s?.*(split|half|halv|mix)|different samples
"""

import torch
import torch.nn as nn


class StateVAE(nn.Module):
    def __init__(self, n_in=16, hidden=32, latent=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, 2 * latent))
        self.dec = nn.Sequential(
            nn.Linear(2 * latent, hidden), nn.ReLU(), nn.Linear(hidden, n_in)
        )

    def reparameterise(self, mu, logvar):
        if not self.training:
            return mu
        return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2)
        z = self.reparameterise(mu, logvar)
        return self.dec(z), mu, logvar


torch.manual_seed(0)
model = StateVAE()
example_inputs = (torch.randn(8, 16),)
