r"""Variational autoencoder in which each latent may hold some information for free.

Source: https://github.com/openai/iaf
Odd: The divergence is cut from below, so it has no gradient while a latent holds little.
"""

import torch
from torch import nn


class VAE(nn.Module):
    def __init__(self, data=30, hidden=64, z=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(data, hidden), nn.Tanh(), nn.Linear(hidden, 2 * z))
        self.decoder = nn.Sequential(nn.Linear(z, hidden), nn.Tanh(), nn.Linear(hidden, data))

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        kl = -0.5 * (1 + logvar - mu.square() - logvar.exp())
        return self.decoder(z), kl.mean(dim=0)


torch.manual_seed(0)
decode = torch.randn(3, 30)
model = VAE()
optimizer = torch.optim.Adamax(model.parameters(), lr=1e-2)
kl_min = 0.25
for step in range(100):
    x = torch.tanh(torch.randn(128, 3) @ decode) + 0.1 * torch.randn(128, 30)
    out, kl_cost = model(x)
    kl_obj = kl_cost.clamp(min=kl_min).sum()
    reconstruction = 5 * (out - x).square().sum(1).mean()
    loss = reconstruction + kl_obj
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(
            f"{step + 1} reconstruction {reconstruction.item():.3f} kl {kl_cost.sum().item():.3f}"
        )
