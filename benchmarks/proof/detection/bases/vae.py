"""A variational autoencoder, which computes its loss."""

import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, pixels=196, hidden=96, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(pixels, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU()
        )
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, pixels)
        )

    def forward(self, images):
        hidden = self.encoder(images)
        mean = self.mean(hidden)
        log_variance = self.log_variance(hidden)
        noise = torch.randn_like(mean)
        latent = mean + noise * torch.exp(0.5 * log_variance)
        logits = self.decoder(latent)
        reconstruction = F.binary_cross_entropy_with_logits(logits, images)
        divergence = -0.5 * (1 + log_variance - mean**2 - log_variance.exp()).mean()
        loss = reconstruction + 0.1 * divergence
        return {"logits": logits, "loss": loss}


def example_inputs():
    return (torch.rand(16, 196),)
