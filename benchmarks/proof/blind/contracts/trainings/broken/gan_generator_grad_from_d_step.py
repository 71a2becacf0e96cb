r"""A training.

Source: https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html
Fault: In the discriminator step the fake batch is not detached and the generator's gradients are
    not cleared afterwards, so the generator also steps on the discriminator's loss.
Cause: detach|(generator).{0,120}(grad|discriminator.{0,20}loss|clear|zero|accum)|zero_?grad
    |leak\w* into
"""

import torch
from torch import nn

torch.manual_seed(216)


def real(n):
    return torch.cat([0.5 + 0.2 * torch.randn(n, 1), -1 + 0.4 * torch.randn(n, 1)], 1)


G = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.SGD(G.parameters(), lr=0.05)
opt_d = torch.optim.SGD(D.parameters(), lr=0.05)
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)

for step in range(150):
    fake = G(torch.randn(64, 3))
    opt_g.zero_grad()
    opt_d.zero_grad()
    d_loss = bce(D(real(64)), ones) + bce(D(fake), zeros)
    d_loss.backward()
    opt_d.step()

    fake = G(torch.randn(64, 3))
    g_loss = bce(D(fake), ones)
    g_loss.backward()
    opt_g.step()
    if step % 30 == 29:
        print(f"{step + 1} d {d_loss.item():.3f} g {g_loss.item():.3f} mean {fake.mean(0).tolist()}")
