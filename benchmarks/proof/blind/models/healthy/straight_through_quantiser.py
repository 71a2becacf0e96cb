"""A VQ autoencoder with the straight-through estimator.

Source: https://github.com/CompVis/taming-transformers/issues/35
Odd: (q - z).detach() cuts the codebook out of reconstruction; codebook loss is taken before it.
"""

import torch
import torch.nn.functional as F
from torch import nn


class VQAutoencoder(nn.Module):
    def __init__(self, dim=12, d=6, n_codes=16, beta=0.25):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, d))
        self.decoder = nn.Sequential(nn.Linear(d, 24), nn.ReLU(), nn.Linear(24, dim))
        self.embedding = nn.Embedding(n_codes, d)
        self.beta = beta

    def forward(self, x):
        z = self.encoder(x)
        z_q = self.embedding(torch.cdist(z, self.embedding.weight).argmin(1))
        loss = self.beta * F.mse_loss(z, z_q.detach()) + F.mse_loss(z_q, z.detach())
        z_q = z + (z_q - z).detach()
        recon = self.decoder(z_q)
        return {"loss": loss + F.mse_loss(recon, x), "recon": recon}


def example_inputs():
    return (torch.randn(32, 12),)
