r"""Binary pictures through a variational code of four numbers.

Source: https://github.com/keras-team/keras/pull/3383
Fault: The reconstruction is a mean over the pixels, the divergence a sum over the code, so the
    divergence outweighs it by far and the code collapses to the prior.
Cause: (reconstruction|xent|bce|cross.?entropy|pixel).{0,120}(mean|averag|small|weak|scale|sum
    |divid|outweigh)|(kl|diverg).{0,120}(outweigh|dominat|too (strong|large|big|heavy)|sum|scale
    |relative|collaps)|collaps
Place: xent_loss|kl_loss|vae_loss|original_dim|reduction|mean|PIXELS|reconstruction
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(331)
PIXELS, LATENT, KINDS = 64, 4, 12
picture = (F.avg_pool2d(torch.randn(KINDS, 1, 8, 8), 3, 1, 1) > 0).float().flatten(1)


def draw(count):
    clean = picture[torch.randint(0, KINDS, (count,))]
    flips = (torch.rand(count, PIXELS) < 0.05).float()
    return (clean - flips).abs()


class VAE(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.h = nn.Linear(PIXELS, hidden)
        self.z_mean, self.z_log_var = nn.Linear(hidden, LATENT), nn.Linear(hidden, LATENT)
        self.decoder_h, self.decoder_out = nn.Linear(LATENT, hidden), nn.Linear(hidden, PIXELS)

    def forward(self, x):
        h = F.relu(self.h(x))
        z_mean, z_log_var = self.z_mean(h), self.z_log_var(h)
        z = z_mean + (z_log_var / 2).exp() * torch.randn_like(z_mean)
        return self.decoder_out(F.relu(self.decoder_h(z))), z_mean, z_log_var


def vae_loss(x, x_decoded, z_mean, z_log_var):
    xent_loss = F.binary_cross_entropy_with_logits(x_decoded, x, reduction="none").mean(1)  # here
    kl_loss = -0.5 * (1 + z_log_var - z_mean**2 - z_log_var.exp()).sum(1)
    return (xent_loss + kl_loss).mean(), kl_loss.mean()


vae = VAE()
optimizer = torch.optim.RMSprop(vae.parameters(), lr=3e-3)
train_x, test_x = draw(2000), draw(500)
for epoch in range(12):
    for rows in torch.randperm(len(train_x)).split(100):
        loss, kl = vae_loss(train_x[rows], *vae(train_x[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 2:
        with torch.no_grad():
            decoded = vae(test_x)[0]
        wrong = ((decoded > 0).float() != test_x).float().mean().item()
        print(f"epoch {epoch + 1} loss {loss.item():.4f} kl {kl.item():.4f} wrong {wrong:.3f}")
