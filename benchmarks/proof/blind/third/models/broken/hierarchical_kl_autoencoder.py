r"""Two-level variational autoencoder with a residual posterior, returning the ELBO terms.

Source: https://github.com/GlassyWing/nvae/issues/3
Fault: The KL sums over the batch as well, then takes the mean of a scalar: it grows with the batch.
Cause: (sum|kl).*(batch|without|no|missing).*(dim|size|scale|mean)?|scal\w* with .*batch
    |mean .*scalar
Place: kl_2|sum|loss|forward
"""

import torch
import torch.nn.functional as F
from torch import nn


def kl_2(delta_mu, delta_log_var, log_var):
    var = torch.exp(log_var)
    loss = -0.5 * torch.sum(  # here
        1 + delta_log_var - delta_mu**2 / var - torch.exp(delta_log_var)
    )
    return torch.mean(loss, dim=0)


class ResidualVAE(nn.Module):
    def __init__(self, size=36, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 32), nn.SiLU(), nn.Linear(32, 2 * latent))
        self.prior = nn.Parameter(torch.zeros(2, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.SiLU(), nn.Linear(32, size))

    def forward(self, x):
        delta_mu, delta_log_var = self.encoder(x).chunk(2, dim=1)
        mu, log_var = self.prior
        std = torch.exp(0.5 * (log_var + delta_log_var))
        z = mu + delta_mu + std * torch.randn_like(delta_mu)
        recon = F.mse_loss(self.decoder(z), x, reduction="none").sum(1).mean(0)
        return recon + kl_2(delta_mu, delta_log_var, log_var)


def build():
    return ResidualVAE()


def example_inputs():
    return torch.randn(12, 36)
