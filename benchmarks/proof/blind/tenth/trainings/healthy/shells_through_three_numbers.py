"""Outlines of shells squeezed through three numbers with a spread.

Source: https://github.com/graviraja/pytorch-sample-codes/issues/2
Odd: The divergence has exp(z_var) and a plain z_var and no logarithm; z_var is the logarithm of the
    variance, and the terms are only in another order than usual. All losses are sums.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)
POINTS, LATENT = 32, 3
turn = torch.linspace(0, 6.2832, POINTS)


def shells(count):
    ribs = 0.3 * torch.rand(count, 1) * torch.cos(5 * turn + 6.28 * torch.rand(count, 1))
    long = 0.4 * torch.rand(count, 1) * torch.cos(2 * turn)
    return (0.5 + 0.5 * (ribs + long)).clamp(0, 1)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(POINTS, 64)
        self.mu, self.var = nn.Linear(64, LATENT), nn.Linear(64, LATENT)
        self.decoder = nn.Sequential(nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, POINTS))

    def forward(self, x):
        hidden = F.relu(self.linear(x))
        z_mu, z_var = self.mu(hidden), self.var(hidden)
        std = torch.exp(z_var / 2)
        sample = torch.randn_like(std).mul(std).add_(z_mu)
        return torch.sigmoid(self.decoder(sample)), z_mu, z_var


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(320):
    x = shells(64)
    reconstructed_x, z_mu, z_var = model(x)
    recon_loss = 2000 * F.mse_loss(reconstructed_x, x, reduction="sum") / 2
    kl_loss = 0.5 * torch.sum(torch.exp(z_var) + z_mu**2 - 1.0 - z_var)
    loss = recon_loss + kl_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 64 == 63:
        error = F.mse_loss(reconstructed_x, x).item()
        print(
            f"step {step + 1} loss {loss.item():.1f} kl {kl_loss.item() / 64:.2f} "
            f"error {error:.5f} (spread {x.var(0).mean().item():.5f})"
        )
