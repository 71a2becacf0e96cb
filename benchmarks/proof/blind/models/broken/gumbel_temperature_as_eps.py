"""A discrete VAE with Gumbel-softmax latents.

Source: https://github.com/nec-research/tf-imle/issues/1
Fault: the temperature is passed in the place of eps, so the Gumbel noise is nearly constant.
Cause: eps|temperature|argument|position
Place: sample_gumbel|temperature|eps
"""

import torch
import torch.nn.functional as F
from torch import nn


def sample_gumbel(shape, eps=1e-20):
    u = torch.rand(shape)
    return -torch.log(-torch.log(u + eps) + eps)


class DiscreteVAE(nn.Module):
    def __init__(self, x_dim=20, n_latent=4, n_cat=5, tau=1.0):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(x_dim, 32), nn.ReLU(), nn.Linear(32, 20))
        self.decoder = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, x_dim))
        self.shape, self.tau = (n_latent, n_cat), tau

    def forward(self, x):
        logits = self.encoder(x).view(-1, *self.shape)
        y = logits + sample_gumbel(logits.shape, self.tau)  # here
        z = F.softmax(y / self.tau, dim=-1)
        recon = self.decoder(z.flatten(1))
        q = F.softmax(logits, dim=-1)
        kl = (q * (q * self.shape[1] + 1e-9).log()).sum((1, 2)).mean()
        loss = F.binary_cross_entropy_with_logits(recon, x) + 0.01 * kl
        return {"loss": loss, "z": z}


def example_inputs():
    return (torch.rand(8, 20),)
