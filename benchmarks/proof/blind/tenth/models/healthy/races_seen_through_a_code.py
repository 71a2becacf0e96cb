r"""Code of the frames of a car race, the eye of an agent that dreams.

Source: https://github.com/ctallec/world-models/issues/13
Odd: The noise is multiplied by exp(logsigma) without a half; the head gives the logarithm of the
    deviation and not of the variance, and the divergence is written with 2 * logsigma.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Decoder(nn.Module):
    def __init__(self, channels, latent):
        super().__init__()
        self.fc1 = nn.Linear(latent, 256)
        self.deconv1 = nn.ConvTranspose2d(256, 64, 5, stride=2)
        self.deconv2 = nn.ConvTranspose2d(64, 32, 5, stride=2)
        self.deconv3 = nn.ConvTranspose2d(32, channels, 4, stride=2)

    def forward(self, z):
        x = F.relu(self.fc1(z))[:, :, None, None]
        x = F.relu(self.deconv1(x))
        x = F.relu(self.deconv2(x))
        return torch.sigmoid(self.deconv3(x))


class Encoder(nn.Module):
    def __init__(self, channels, latent):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 4, stride=2)
        self.conv2 = nn.Conv2d(16, 32, 4, stride=2)
        self.conv3 = nn.Conv2d(32, 64, 4, stride=2)
        self.fc_mu, self.fc_logsigma = nn.Linear(64, latent), nn.Linear(64, latent)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = F.relu(self.conv3(x)).flatten(1)
        return self.fc_mu(x), self.fc_logsigma(x)


class RaceVAE(nn.Module):
    def __init__(self, channels=3, latent=16):
        super().__init__()
        self.encoder, self.decoder = Encoder(channels, latent), Decoder(channels, latent)

    def forward(self, x):
        mu, logsigma = self.encoder(x)
        sigma = logsigma.exp()
        z = torch.randn_like(sigma).mul(sigma).add_(mu)
        recon = self.decoder(z)
        bce = F.mse_loss(recon, x, reduction="sum")
        kld = -0.5 * torch.sum(1 + 2 * logsigma - mu.pow(2) - (2 * logsigma).exp())
        return recon, (bce + kld) / len(x)


def build():
    return RaceVAE()


def example_inputs():
    return (torch.rand(4, 3, 28, 28),)
