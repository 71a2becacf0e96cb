"""Trains a GAN with the softplus losses until the discriminator cannot tell.

Source: https://github.com/SHI-Labs/StyleNAT/issues/11
Odd: the loss of the discriminator settles at 1.39 and does not fall; that is 2 ln 2, the value when
    the samples cannot be told from the data.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(21)
G = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
D = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_optim = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.99))
d_optim = torch.optim.Adam(D.parameters(), lr=4e-3, betas=(0.0, 0.99))
for i in range(250):
    real = (1.5 + 0.5 * torch.randn(128, 1)).requires_grad_()
    fake = G(torch.randn(128, 2)).detach()
    real_pred, fake_pred = D(real), D(fake)
    (grad,) = torch.autograd.grad(real_pred.sum(), real, create_graph=True)
    r1 = grad.square().sum(1).mean()
    d_loss = F.softplus(-real_pred).mean() + F.softplus(fake_pred).mean()
    d_optim.zero_grad()
    (d_loss + 0.5 * r1).backward()
    d_optim.step()

    fake = G(torch.randn(128, 2))
    g_loss = F.softplus(-D(fake)).mean()
    g_optim.zero_grad()
    g_loss.backward()
    g_optim.step()
    if i % 50 == 0 or i == 249:
        print(f"{i} d {d_loss.item():.3f} g {g_loss.item():.3f} mean {fake.mean().item():.3f}")
