"""A VQ-VAE with the codebook and commitment losses of the paper.

Source: https://github.com/showlab/Olaf-World/issues/8
    https://github.com/andylolu2/jax-vqvae-gpt/issues/2
Fault: the codebook loss uses the straight-through output, so the codebook never gets a gradient.
Cause: straight.?through|after.*detach|detach|z_q|codebook_loss|codebook loss
Place: codebook|embedding
"""

import torch
import torch.nn.functional as F
from torch import nn


class VQVAE(nn.Module):
    def __init__(self, x_dim=20, d=8, n_codes=16, beta=0.25):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(x_dim, 32), nn.ReLU(), nn.Linear(32, d))
        self.decoder = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, x_dim))
        self.codebook = nn.Embedding(n_codes, d)
        self.beta = beta

    def quantize(self, z):
        idx = torch.cdist(z, self.codebook.weight).argmin(dim=1)
        quantized = self.codebook(idx)
        return z + (quantized - z).detach()

    def forward(self, x):
        z_e = self.encoder(x)
        z_q = self.quantize(z_e)
        recon = self.decoder(z_q)
        codebook_loss = F.mse_loss(z_q, z_e.detach())  # here
        commit_loss = F.mse_loss(z_e, z_q.detach())
        loss = F.mse_loss(recon, x) + codebook_loss + self.beta * commit_loss
        return {"loss": loss, "recon": recon}


def example_inputs():
    return (torch.randn(16, 20),)
