r"""A VAE whose KL weight rises from zero to one.

Source: https://github.com/haofuml/cyclical_annealing
    https://github.com/1Konny/Beta-VAE/issues/8
Odd: The loss rises in the middle of the run, while beta grows; the reconstruction stays good and
    the divergence falls.
"""

import torch
import torch.nn.functional as F
from torch import nn


class BetaVAE(nn.Module):
    def __init__(self, dim=16, z=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 48), nn.ReLU(), nn.Linear(48, dim))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        kld = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        return self.dec(z), kld


torch.manual_seed(0)
net = BetaVAE()
optim = torch.optim.Adam(net.parameters(), lr=3e-3)
mix = torch.randn(3, 16)
for it in range(300):
    beta = min(1.0, max(0.0, (it - 60) / 120))
    x = torch.randn(64, 3) @ mix
    recon, kld = net(x)
    recon_loss = F.mse_loss(recon, x, reduction="sum") / len(x)
    loss = recon_loss + beta * kld
    optim.zero_grad()
    loss.backward()
    optim.step()
    if it % 30 == 29:
        print(f"[{it}] loss {loss:.3f} recon {recon_loss:.3f} kld {kld:.3f} beta {beta:.2f}")
