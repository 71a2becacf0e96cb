"""Drawings for a given digit by an autoencoder with a random code.

Source: https://github.com/timbmg/VAE-CVAE-MNIST
Odd: The loss is a sum over all pixels, divided only by the batch, so it is in the tens, and it
    never comes near zero, since the pixels are random and the code costs something.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(233)
DIGITS, PIXELS = 6, 64
shapes = (torch.rand(DIGITS, PIXELS) > 0.6).float()
slants = (torch.rand(2, PIXELS) > 0.85).float()


def drawings(count=64):
    digit = torch.randint(0, DIGITS, (count,))
    slant = torch.randint(0, 2, (count,))
    ink = (shapes[digit] + slants[slant]).clamp(max=1)
    return (torch.rand(count, PIXELS) < 0.04 + 0.92 * ink).float(), digit


class CVAE(nn.Module):
    def __init__(self, latent_size=2, hidden=96):
        super().__init__()
        self.latent_size = latent_size
        self.encoder = nn.Sequential(nn.Linear(PIXELS + DIGITS, hidden), nn.ReLU())
        self.linear_means = nn.Linear(hidden, latent_size)
        self.linear_log_var = nn.Linear(hidden, latent_size)
        self.decoder = nn.Sequential(
            nn.Linear(latent_size + DIGITS, hidden), nn.ReLU(), nn.Linear(hidden, PIXELS)
        )

    def forward(self, x, c):
        c = F.one_hot(c, DIGITS).float()
        hidden = self.encoder(torch.cat([x, c], 1))
        means, log_var = self.linear_means(hidden), self.linear_log_var(hidden)
        z = means + torch.exp(0.5 * log_var) * torch.randn_like(means)
        return torch.sigmoid(self.decoder(torch.cat([z, c], 1))), means, log_var

    def inference(self, c):
        z = torch.randn(len(c), self.latent_size)
        return torch.sigmoid(self.decoder(torch.cat([z, F.one_hot(c, DIGITS).float()], 1)))


def loss_fn(recon_x, x, mean, log_var):
    bce = F.binary_cross_entropy(recon_x, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
    return (bce + kld) / x.size(0)


vae = CVAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=3e-3)
for iteration in range(250):
    x, y = drawings()
    recon_x, mean, log_var = vae(x, y)
    loss = loss_fn(recon_x, x, mean, log_var)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if iteration % 50 == 0:
        print(f"Batch {iteration:04d}, Loss {loss.item():9.4f}")
with torch.no_grad():
    wanted = torch.arange(DIGITS).repeat_interleave(50)
    drawn = vae.inference(wanted)
    nearest = torch.cdist(drawn, shapes).argmin(1)
print(
    f"Loss {loss.item():.4f}, drawings like the digit asked for "
    f"{(nearest == wanted).float().mean().item():.3f}"
)
