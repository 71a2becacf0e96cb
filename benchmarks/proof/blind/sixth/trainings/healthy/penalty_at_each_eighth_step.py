r"""Adversarial training with a penalty on the gradients at real samples.

Source: https://github.com/NVlabs/stylegan2-ada-pytorch/blob/main/training/loss.py
Odd: The penalty is computed in only one of eight steps, and is multiplied by eight there, with a
    step of the optimizer of its own.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1)
G = nn.Sequential(nn.Linear(4, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2))
G.append(nn.Linear(48, 2))
D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2))
D.append(nn.Linear(48, 1))
interval, gamma = 8, 0.1
ratio = interval / (interval + 1)
G_opt = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.99))
D_opt = torch.optim.Adam(D.parameters(), lr=2e-3 * ratio, betas=(0.0, 0.99**ratio))


def real_samples(count):
    corner = torch.randint(0, 2, (count, 2)) * 4.0 + 1
    return corner + 0.2 * torch.randn(count, 2)


def distance():
    with torch.no_grad():
        fake, real = G(torch.randn(400, 4)), real_samples(400)
        gap = torch.cdist(fake, real).mean() * 2
        return (gap - torch.cdist(fake, fake).mean() - torch.cdist(real, real).mean()).item()


print(f"energy distance at first {distance():.3f}")
for cur in range(110):
    D.requires_grad_(False)
    loss_Gmain = F.softplus(-D(G(torch.randn(96, 4)))).mean()
    G_opt.zero_grad(set_to_none=True)
    loss_Gmain.backward()
    G_opt.step()
    D.requires_grad_(True)

    with torch.no_grad():
        fake = G(torch.randn(96, 4))
    loss_Dmain = F.softplus(D(fake)).mean() + F.softplus(-D(real_samples(96))).mean()
    D_opt.zero_grad(set_to_none=True)
    loss_Dmain.backward()
    D_opt.step()

    if cur % interval == 0:
        real = real_samples(96).requires_grad_(True)
        (grads,) = torch.autograd.grad(D(real).sum(), real, create_graph=True)
        loss_Dr1 = grads.square().sum(1).mean() * (gamma / 2)
        D_opt.zero_grad(set_to_none=True)
        loss_Dr1.mul(interval).backward()
        D_opt.step()
    if cur % 20 == 0:
        print(f"{cur} G {loss_Gmain.item():.3f} D {loss_Dmain.item():.3f}")
print(f"energy distance at last {distance():.3f}")
