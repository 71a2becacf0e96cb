r"""Trains the VAE of a world model on frames.

Source: https://github.com/AppliedDataSciencePartners/WorldModels/issues/12
Fault: the reconstruction error is averaged over the pixels and the KL term is summed over the code,
    so the KL term wins, the code collapses to the prior and all the reconstructions are the mean
    frame.
Cause:
    collaps|\bkl\w*\b.*\b(weight|scale|sum|dominat|zero|large)|recon\w*\b.*\b(mean|averag|scale)|reduction|balanc
Place: r_loss|kl_loss
"""

import torch
from torch import nn

torch.manual_seed(11)


class VAE(nn.Module):
    def __init__(self, pixels=144, z_dim=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(pixels, 64), nn.ReLU())
        self.z_mean, self.z_log_var = nn.Linear(64, z_dim), nn.Linear(64, z_dim)
        self.dec = nn.Sequential(nn.Linear(z_dim, 64), nn.ReLU(), nn.Linear(64, pixels))

    def forward(self, x):
        h = self.enc(x)
        mean, log_var = self.z_mean(h), self.z_log_var(h)
        z = mean + torch.randn_like(mean) * (log_var / 2).exp()
        return torch.sigmoid(self.dec(z)), mean, log_var


def frames(n):
    road = torch.randint(1, 9, (n,))
    image = torch.zeros(n, 12, 12)
    for k, r in enumerate(road.tolist()):
        image[k, :, r : r + 3] = 1.0
    return image.flatten(1)


vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
for step in range(121):
    x = frames(64)
    recon, mean, log_var = vae(x)
    r_loss = (x - recon).square().mean()  # here
    kl_loss = -0.5 * (1 + log_var - mean.square() - log_var.exp()).sum(1).mean()
    loss = r_loss + kl_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0 or step == 120:
        spread = recon.detach().std(0).mean().item()
        print(f"{step} r {r_loss.item():.4f} kl {kl_loss.item():.5f} spread {spread:.4f}")
