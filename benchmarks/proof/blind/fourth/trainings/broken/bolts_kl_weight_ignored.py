r"""Variational autoencoder whose prior is to count a hundredth.

Source: https://github.com/Lightning-Universe/lightning-bolts/issues/328
Fault: The coefficient of the KL term is stored but not used, and the latent code collapses.
Cause: \bkl\w*|posterior|collaps\w*|latent .*(unused|ignored|no (effect|influence)|constant)
    |(ignores?|without) .*(latent|input|code)
Place: kl_coeff|\bkl\b|fc_mu|fc_var
"""

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence


class VAE(nn.Module):
    def __init__(self, size=16, latent=6, kl_coeff=0.01):
        super().__init__()
        self.kl_coeff = kl_coeff
        self.encoder = nn.Sequential(nn.Linear(size, 32), nn.ReLU())
        self.fc_mu, self.fc_var = nn.Linear(32, latent), nn.Linear(32, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, size))

    def step(self, x):
        hidden = self.encoder(x)
        q = Normal(self.fc_mu(hidden), (0.5 * self.fc_var(hidden)).exp())
        recon = nn.functional.mse_loss(self.decoder(q.rsample()), x)
        kl = kl_divergence(q, Normal(0.0, 1.0)).mean()
        return recon + kl, recon, kl  # here


torch.manual_seed(0)
data = torch.tanh(torch.randn(512, 3) @ torch.randn(3, 16)) * 0.3
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    for index in torch.randperm(512).split(64):
        loss, recon, kl = model.step(data[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"reconstruction {recon.item():.4f} of {data.var().item():.4f}, kl {kl.item():.4f}")
