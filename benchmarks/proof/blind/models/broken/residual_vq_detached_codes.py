"""A residual quantiser that turns item features into a few discrete codes.

Source: https://github.com/EdoardoBotta/RQ-VAE-Recommender/issues/24
Fault: the codes are detached before the quantisation loss, so all codebooks have no gradient.
Cause: detach
Place: layers|codebook|embedding
"""

import torch
import torch.nn.functional as F
from torch import nn


class RQVAE(nn.Module):
    def __init__(self, in_dim=24, latent=8, codes=12, n_layers=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(in_dim, 32), nn.SiLU(), nn.Linear(32, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.SiLU(), nn.Linear(32, in_dim))
        self.layers = nn.ModuleList(nn.Embedding(codes, latent) for _ in range(n_layers))

    def forward(self, x):
        z = self.encoder(x)
        residual, total, rqvae_loss = z, 0, 0
        for layer in self.layers:
            dist = torch.cdist(residual, layer.weight)
            emb = layer(dist.argmin(dim=-1)).detach()  # here
            rqvae_loss = rqvae_loss + (residual.detach() - emb).pow(2).sum(-1).mean()
            rqvae_loss = rqvae_loss + 0.25 * (residual - emb.detach()).pow(2).sum(-1).mean()
            residual = residual - emb
            total = total + emb
        x_hat = self.decoder(z + (total - z).detach())
        return {"loss": F.mse_loss(x_hat, x) + rqvae_loss, "x_hat": x_hat}


def example_inputs():
    return (torch.randn(16, 24),)
