r"""A VAE for vectors of gene expression.

Source: https://github.com/zdebruine/MMVAE/pull/19
Fault: The reconstruction is a mean over all elements while the divergence is a sum over the batch,
    so the posterior collapses to the prior and every cell gets the same reconstruction.
Cause: (kl|divergence).*(sum|scale|weight|dominat|mean|large)|posterior collapse|reduction|mean.*sum
"""

import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, genes=40, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(genes, 32), nn.ReLU())
        self.mu, self.logvar = nn.Linear(32, latent), nn.Linear(32, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, genes))

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.decoder(z), mu, logvar


def kl_divergence(mu, logvar):
    return -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())


torch.manual_seed(0)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
expression = torch.randn(512, 6) @ torch.randn(6, 40)
for epoch in range(20):
    for x in expression.split(64):
        recon, mu, logvar = model(x)
        recon_loss = F.mse_loss(recon, x)  # here
        kl = kl_divergence(mu, logvar)
        loss = recon_loss + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"Epoch {epoch} recon {recon_loss.item():.3f} of {x.var():.3f} kl {kl.item():.4f}")
