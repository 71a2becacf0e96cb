"""A vanilla VAE with the loss in a dict.

Source: https://github.com/AntixK/PyTorch-VAE/issues/69
    https://github.com/AntixK/PyTorch-VAE/issues/68
Odd: the KL term takes exp of log_var and is reported with a minus; the loss itself is right.
"""

import torch
import torch.nn.functional as F
from torch import nn


class VanillaVAE(nn.Module):
    def __init__(self, in_dim=16, latent=4, kld_weight=0.01):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(in_dim, 32), nn.LeakyReLU())
        self.fc_mu, self.fc_var = nn.Linear(32, latent), nn.Linear(32, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.LeakyReLU(), nn.Linear(32, in_dim))
        self.kld_weight = kld_weight

    def forward(self, x):
        h = self.encoder(x)
        mu, log_var = self.fc_mu(h), self.fc_var(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * log_var)
        recons = self.decoder(z)
        kld = torch.mean(-0.5 * torch.sum(1 + log_var - mu**2 - log_var.exp(), dim=1), dim=0)
        loss = F.mse_loss(recons, x) + self.kld_weight * kld
        return {"loss": loss, "recons": recons, "KLD": -kld.detach()}


def example_inputs():
    return (torch.randn(32, 16),)
