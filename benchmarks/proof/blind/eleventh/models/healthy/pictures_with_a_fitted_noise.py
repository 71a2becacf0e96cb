r"""The optimal sigma-VAE: the deviation of the decoder is computed from the batch.

Source: https://github.com/orybkin/sigma-vae-pytorch/issues/11
Healthy: the deviation is no parameter but the root of the mean squared error of the batch, with a
    soft lower bound; the loss may become negative, since a density can be greater than one.
"""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


class Flatten(nn.Module):
    def forward(self, input):
        return input.view(input.size(0), -1)


class UnFlatten(nn.Module):
    def __init__(self, n_channels):
        super(UnFlatten, self).__init__()
        self.n_channels = n_channels

    def forward(self, input):
        size = int((input.size(1) // self.n_channels) ** 0.5)
        return input.view(input.size(0), self.n_channels, size, size)


def softclip(tensor, min):
    """ Clips the tensor values at the minimum value min in a softway. """
    return min + F.softplus(tensor - min)


def gaussian_nll(mu, log_sigma, x):
    return 0.5 * torch.pow((x - mu) / log_sigma.exp(), 2) + log_sigma + 0.5 * np.log(2 * np.pi)


class ConvVAE(nn.Module):
    def __init__(self, img_channels=1, z_dim=8, filters_m=8, model='optimal_sigma_vae'):
        super().__init__()
        self.z_dim = z_dim
        self.img_channels = img_channels
        self.model = model

        self.encoder = nn.Sequential(
            nn.Conv2d(img_channels, filters_m, (3, 3), stride=1, padding=1), nn.ReLU(),
            nn.Conv2d(filters_m, 2 * filters_m, (4, 4), stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(2 * filters_m, 4 * filters_m, (4, 4), stride=2, padding=1), nn.ReLU(),
            Flatten(),
        )
        h_dim = 4 * filters_m * 4 * 4
        self.fc11 = nn.Linear(h_dim, self.z_dim)
        self.fc12 = nn.Linear(h_dim, self.z_dim)
        self.fc2 = nn.Linear(self.z_dim, h_dim)
        self.decoder = nn.Sequential(
            UnFlatten(4 * filters_m),
            nn.ConvTranspose2d(4 * filters_m, 2 * filters_m, (4, 4), stride=2, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(2 * filters_m, filters_m, (4, 4), stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(filters_m, img_channels, (3, 3), padding=1),
            nn.Sigmoid(),
        )

    def encode(self, x):
        h = self.encoder(x)
        return self.fc11(h), self.fc12(h)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return self.decoder(self.fc2(z))

    def sample(self, n):
        return self.decode(torch.randn(n, self.z_dim))

    def reconstruction_loss(self, x_hat, x):
        """ Computes the likelihood of the data given the latent variable """
        if self.model == 'gaussian_vae':
            log_sigma = torch.zeros([])
        else:
            log_sigma = ((x - x_hat) ** 2).mean([0, 1, 2, 3], keepdim=True).sqrt().log()
        log_sigma = softclip(log_sigma, -6)
        return gaussian_nll(x_hat, log_sigma, x).sum()

    def forward(self, x):
        mu, logvar = self.encode(x)
        x_hat = self.decode(self.reparameterize(mu, logvar))
        rec = self.reconstruction_loss(x_hat, x)
        kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        return (rec + kl) / x.size(0)


def make_blobs(n=32, size=16, seed=0):
    g = torch.Generator().manual_seed(seed)
    rows = torch.arange(size).view(1, size, 1).float()
    cols = torch.arange(size).view(1, 1, size).float()
    centre = 4 + 8 * torch.rand(n, 2, 1, 1, generator=g)
    width = 1.5 + 1.5 * torch.rand(n, 1, 1, generator=g)
    d = (rows - centre[:, 0]) ** 2 + (cols - centre[:, 1]) ** 2
    return torch.exp(-d / (2 * width ** 2)).unsqueeze(1)


def build():
    torch.manual_seed(0)
    return ConvVAE()


def example_inputs():
    return (make_blobs(16),)
