r"""Variational autoencoder of fingerprints that returns reconstruction plus divergence.

Source: https://github.com/deepchem/deepchem/pull/4888
Fault: The divergence takes logvar for sigma: it uses logvar squared as the variance.
Cause: log.?var.*(squar|sigma|std|exp|variance|as if|instead)|(kl|divergence).*(wrong|formula|exp)
Place: kl|logvar|forward|vae_kl_divergence
"""

import torch
from torch import nn


def vae_kl_divergence(mu, logvar):
    var = logvar.pow(2)  # here
    return 0.5 * torch.mean(mu.pow(2) + var - torch.log(1e-20 + var) - 1, -1)


class FingerprintVAE(nn.Module):
    def __init__(self, bits=40, latent=5):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(bits, 24), nn.ReLU(), nn.Linear(24, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, bits))

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        rec = nn.functional.binary_cross_entropy_with_logits(
            self.decoder(z), x, reduction="none"
        ).mean(-1)
        return (rec + vae_kl_divergence(mu, logvar)).mean()


def build():
    return FingerprintVAE()


def example_inputs():
    return (torch.rand(8, 40) < 0.3).float()
