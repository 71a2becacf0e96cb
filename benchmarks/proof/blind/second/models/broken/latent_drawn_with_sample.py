r"""A VAE that draws its code from torch.distributions, returning the negative bound.

Source: https://github.com/pytorch/pytorch/issues/4620
    https://github.com/AntixK/PyTorch-VAE/issues/13
Fault: the code is drawn with sample(), which has no gradient; the encoder gets nothing from the
    reconstruction and is only pulled to the prior by the KL term.
Cause: rsample|reparam|sampl\w*\b.*(gradient|differentiable|detach)|gradients?\b.*(sampl|reconstr)
Place: \bsample\b|\bz\b|posterior
"""

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence


class Encoder(nn.Module):
    def __init__(self, pixels=64, hidden=48, zdim=6):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(pixels, hidden), nn.ReLU())
        self.mu = nn.Linear(hidden, zdim)
        self.log_sigma = nn.Linear(hidden, zdim)

    def forward(self, x):
        h = self.body(x)
        return Normal(self.mu(h), self.log_sigma(h).exp())


class VAE(nn.Module):
    def __init__(self, pixels=64, zdim=6, beta=1.0):
        super().__init__()
        self.encoder = Encoder(pixels, 48, zdim)
        self.decoder = nn.Sequential(nn.Linear(zdim, 48), nn.ReLU(), nn.Linear(48, pixels))
        self.beta = beta

    def forward(self, x):
        posterior = self.encoder(x)
        z = posterior.sample()  # here
        recon = self.decoder(z)
        prior = Normal(torch.zeros_like(z), torch.ones_like(z))
        kl = kl_divergence(posterior, prior).sum(1).mean()
        bce = nn.functional.binary_cross_entropy_with_logits(recon, x, reduction="none")
        return {"loss": bce.sum(1).mean() + self.beta * kl, "recon": recon}


def build():
    return VAE()


def example_inputs():
    return ((torch.rand(16, 64) < 0.3).float(),)
