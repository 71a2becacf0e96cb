r"""Adversarial pair with the hinge loss on a ring of points.

Source: https://github.com/ajbrock/BigGAN-PyTorch/blob/master/losses.py
Odd: The loss of the generator is a plain negative mean that may have any sign and does not fall.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


def loss_hinge_dis(dis_fake, dis_real):
    return F.relu(1.0 - dis_real).mean(), F.relu(1.0 + dis_fake).mean()


def loss_hinge_gen(dis_fake):
    return -dis_fake.mean()


def ring(count):
    angle = 2 * math.pi * torch.rand(count, 1)
    radius = 2 + 0.1 * torch.randn(count, 1)
    return torch.cat([radius * angle.cos(), radius * angle.sin()], dim=1)


torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
D = nn.Sequential(
    nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
)
G_optim = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.999))
D_optim = torch.optim.Adam(D.parameters(), lr=4e-3, betas=(0.0, 0.999))
for itr in range(100):
    for _ in range(2):
        D_optim.zero_grad()
        fake = G(torch.randn(128, 4)).detach()
        D_loss_real, D_loss_fake = loss_hinge_dis(D(fake), D(ring(128)))
        (D_loss_real + D_loss_fake).backward()
        D_optim.step()
    G_optim.zero_grad()
    G_loss = loss_hinge_gen(D(G(torch.randn(128, 4))))
    G_loss.backward()
    G_optim.step()
radius = G(torch.randn(500, 4)).norm(dim=1)
print(f"D real {D_loss_real.item():.3f} fake {D_loss_fake.item():.3f} G {G_loss.item():.3f}")
print(f"radius of generated points {radius.mean().item():.3f}, of real ones 2")
