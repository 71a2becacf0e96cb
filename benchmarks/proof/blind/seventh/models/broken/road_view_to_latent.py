r"""Variational encoder and decoder of the camera view of a small self-driving car.

Source: https://github.com/masato-ka/airc-rl-agent/issues/43
Fault: The log-variance goes through a softplus, so it is never negative and the standard
    deviation never falls below one.
Cause: softplus.{0,120}(log|var|std|positive|negative|below|deviation|least|sigma)
    |(log.?var\w*|variance|std|deviation).{0,100}(softplus|never negative|always positive
    |below (1|one)|at least (1|one)|non-?negative)
Place: softplus|\blogvar\b|\bvar\b|fc_var
"""

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, latent=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 16, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(32, 48, 4, stride=2),
            nn.ReLU(),
        )
        self.fc_mean = nn.Linear(48 * 3 * 8, latent)
        self.fc_var = nn.Linear(48 * 3 * 8, latent)

    def forward(self, x):
        h = self.conv(x).flatten(1)
        return self.fc_mean(h), F.softplus(self.fc_var(h))  # here


class Decoder(nn.Module):
    def __init__(self, latent=16):
        super().__init__()
        self.fc = nn.Linear(latent, 48 * 3 * 8)
        self.deconv = nn.Sequential(
            nn.ConvTranspose2d(48, 32, 4, stride=2),
            nn.ReLU(),
            nn.ConvTranspose2d(32, 16, 4, stride=2, output_padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 3, 4, stride=2),
            nn.Sigmoid(),
        )

    def forward(self, z):
        return self.deconv(self.fc(z).view(-1, 48, 3, 8))


class RoadView(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()

    def forward(self, x):
        mu, logvar = self.encoder(x)
        z = mu
        if self.training:
            z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        kld = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum(1)
        return self.decoder(z), mu, kld


def build():
    return RoadView()


def example_inputs():
    return (torch.rand(4, 3, 40, 80),)
