r"""Plain adversarial training on points of a ring.

Source: https://github.com/yunjey/pytorch-tutorial/issues/56
Odd: The fakes are not detached in the discriminator step; both gradient buffers are reset before
    each step and only d_optimizer steps there, so the generator is not touched by it.
"""

import math

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
d_optimizer = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
g_optimizer = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
real_labels, fake_labels = torch.ones(64, 1), torch.zeros(64, 1)


def reset_grad():
    d_optimizer.zero_grad()
    g_optimizer.zero_grad()


for step in range(400):
    angle = torch.rand(64) * 2 * math.pi
    points = torch.stack([angle.cos(), angle.sin()], dim=1)
    d_loss = criterion(D(points), real_labels)
    d_loss = d_loss + criterion(D(G(torch.randn(64, 4))), fake_labels)
    reset_grad()
    d_loss.backward()
    d_optimizer.step()
    g_loss = criterion(D(G(torch.randn(64, 4))), real_labels)
    reset_grad()
    g_loss.backward()
    g_optimizer.step()
print(f"d {d_loss.item():.3f} g {g_loss.item():.3f}")
