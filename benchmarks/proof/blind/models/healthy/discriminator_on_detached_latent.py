"""An autoencoder with a discriminator of attributes on its latent code.

Source: https://github.com/facebookresearch/FaderNetworks/issues/8
Odd: the loss of the discriminator takes a detached latent, it must not train the encoder.
"""

import torch
import torch.nn.functional as F
from torch import nn


class FaderNetwork(nn.Module):
    def __init__(self, dim=10, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, latent))
        self.decoder = nn.Sequential(nn.Linear(latent + 2, 32), nn.ReLU(), nn.Linear(32, dim))
        self.discriminator = nn.Sequential(nn.Linear(latent, 16), nn.ReLU(), nn.Linear(16, 2))

    def forward(self, x, attribute):
        z = self.encoder(x)
        recon = self.decoder(torch.cat([z, F.one_hot(attribute, 2).float()], dim=1))
        dis_loss = F.cross_entropy(self.discriminator(z.detach()), attribute)
        return {"loss": F.mse_loss(recon, x) + dis_loss, "recon": recon}


def example_inputs():
    return (
        torch.randn(16, 10),
        torch.randint(0, 2, (16,)),
    )
