r"""Two translators between domains, trained with cycles, and an adversary for each domain.

Source: https://github.com/junyanz/pytorch-CycleGAN-and-pix2pix/issues/356
Odd: The two generators share one optimizer, so do the adversaries, whose losses go backward
    separately; adversaries get no gradient while the generators learn.
"""

import itertools

import torch
from torch import nn


def net(size, out):
    return nn.Sequential(nn.Linear(size, 48), nn.LeakyReLU(0.2), nn.Linear(48, out))


torch.manual_seed(0)
G_A, G_B, D_A, D_B = net(2, 2), net(2, 2), net(2, 1), net(2, 1)
optimizer_G = torch.optim.Adam(itertools.chain(G_A.parameters(), G_B.parameters()), lr=1e-2)
optimizer_D = torch.optim.Adam(itertools.chain(D_A.parameters(), D_B.parameters()), lr=1e-2)
adversaries = nn.ModuleList([D_A, D_B])


def backward_D(netD, real, fake):
    loss = 0.5 * ((netD(real) - 1).square().mean() + netD(fake.detach()).square().mean())
    loss.backward()
    return loss


for step in range(60):
    real_A = torch.randn(64, 2) * 0.5
    real_B = torch.randn(64, 2) * 0.5 + 1.5
    fake_B, fake_A = G_A(real_A), G_B(real_B)
    cycle = (G_B(fake_B) - real_A).abs().mean() + (G_A(fake_A) - real_B).abs().mean()
    adversaries.requires_grad_(False)
    optimizer_G.zero_grad()
    loss_G = (D_A(fake_B) - 1).square().mean() + (D_B(fake_A) - 1).square().mean() + cycle
    loss_G.backward()
    optimizer_G.step()
    adversaries.requires_grad_(True)
    optimizer_D.zero_grad()
    backward_D(D_A, real_B, fake_B)
    backward_D(D_B, real_A, fake_A)
    optimizer_D.step()
print(f"cycle {cycle.item():.3f}, mean of fake B {fake_B.mean().item():.2f} (1.5)")
