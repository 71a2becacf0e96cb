r"""The model `Codec`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.round.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class Codec(nn.Module):
    def __init__(self, n_in=24, latent=6, levels=8):
        super().__init__()
        self.levels = levels
        self.enc = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, latent))
        self.dec = nn.Sequential(nn.Linear(latent, 32), nn.ReLU(), nn.Linear(32, n_in))

    def quantise(self, z):
        q = torch.round(z * self.levels) / self.levels
        return z + (q - z).detach()

    def forward(self, x):
        z = torch.tanh(self.enc(x))
        return self.dec(self.quantise(z))


torch.manual_seed(0)
model = Codec()
example_inputs = (torch.randn(16, 24),)
