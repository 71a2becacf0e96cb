"""Trains a small GAN in the order of a well known tutorial.

Source: https://github.com/yunjey/pytorch-tutorial/issues/56
Odd: the fake samples are not detached in the discriminator's step, so the generator gets gradients
    of the wrong sign; they are cleared before its own backward and never used.
"""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())
criterion = nn.BCELoss()
d_optimizer = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
g_optimizer = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))


def reset_grad():
    d_optimizer.zero_grad()
    g_optimizer.zero_grad()


ones, zeros = torch.ones(128, 1), torch.zeros(128, 1)
for step in range(300):
    real = torch.randn(128, 2) * 0.3 + torch.tensor([2.0, -1.0])
    fake = G(torch.randn(128, 4))
    d_loss = criterion(D(real), ones) + criterion(D(fake), zeros)
    reset_grad()
    d_loss.backward()
    d_optimizer.step()

    fake = G(torch.randn(128, 4))
    g_loss = criterion(D(fake), ones)
    reset_grad()
    g_loss.backward()
    g_optimizer.step()
    if step % 50 == 0 or step == 299:
        gap = (fake.mean(0) - real.mean(0)).norm().item()
        print(f"step {step} d {d_loss.item():.3f} g {g_loss.item():.3f} gap {gap:.3f}")
