r"""A convolution-free VAE for small vectors.

Source: https://github.com/alecGraves/BVAE-tf/issues/7
    https://github.com/keras-team/keras/issues/3283
Fault: noise is scaled by exp(logvar), the variance, while the KL term takes the value as
    log-variance.
Cause: \bexp\b|0\.5|\bhalf\b|varian|std.*(log|wrong)
Place: reparam|std|logvar|log_var
"""

import torch
import torch.nn.functional as F
from torch import nn


class VanillaVAE(nn.Module):
    def __init__(self, in_dim=20, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(in_dim, 32), nn.LeakyReLU())
        self.fc_mu = nn.Linear(32, latent)
        self.fc_var = nn.Linear(32, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.LeakyReLU(), nn.Linear(32, in_dim))

    def reparameterize(self, mu, log_var):
        std = torch.exp(log_var)  # here
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        h = self.encoder(x)
        mu, log_var = self.fc_mu(h), self.fc_var(h)
        recon = self.decoder(self.reparameterize(mu, log_var))
        kld = -0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).sum(1).mean()
        return {"loss": F.mse_loss(recon, x) + 0.1 * kld, "recon": recon}


def example_inputs():
    return (torch.randn(32, 20),)
