r"""The model `VAE`.

Source: https://arxiv.org/abs/1312.6114
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, n_in, hidden, latent):
        super().__init__()
        self.body = nn.Linear(n_in, hidden)
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.mu(h), self.logvar(h)


class VAE(nn.Module):
    def __init__(self, n_in=20, hidden=32, latent=6):
        super().__init__()
        self.encoder = Encoder(n_in, hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.Tanh(), nn.Linear(hidden, n_in))

    def forward(self, x):
        mu, logvar = self.encoder(x)
        z = mu
        if self.training:
            std = torch.exp(0.5 * logvar)
            z = mu + std * torch.randn_like(std)
        recon = F.mse_loss(self.decoder(z), x, reduction="sum") / x.size(0)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(dim=1).mean()
        return recon + kl


torch.manual_seed(0)
model = VAE()
example_inputs = (torch.randn(16, 20),)
