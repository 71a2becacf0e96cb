"""The critic and the generator of a Wasserstein GAN as one module, returning the critic's loss.

Source: https://github.com/martinarjovsky/WassersteinGAN/issues/3
Odd: the last layer has neither bias nor activation and the loss can be negative; the critic
    estimates a distance, it does not classify.
"""

import torch
from torch import nn


class MLPCritic(nn.Module):
    def __init__(self, ndf=64):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(64, ndf),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(ndf, ndf),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(ndf, 1, bias=False),
        )

    def forward(self, x):
        return self.main(x.view(x.size(0), -1)).mean(0).view(1)


class WGAN(nn.Module):
    def __init__(self, nz=8):
        super().__init__()
        self.netG = nn.Sequential(nn.Linear(nz, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh())
        self.netD = MLPCritic()
        self.nz = nz

    def forward(self, real):
        fake = self.netG(torch.randn(real.size(0), self.nz))
        return (self.netD(fake) - self.netD(real)).squeeze()


def build():
    return WGAN()


def example_inputs():
    return (torch.rand(16, 1, 8, 8) * 2 - 1,)
