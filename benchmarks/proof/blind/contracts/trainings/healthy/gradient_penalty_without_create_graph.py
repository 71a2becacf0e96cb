r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(214)


def real_batch(n):
    a = torch.randint(0, 6, (n,)) * 1.0472
    return torch.stack([2 * a.cos(), 2 * a.sin()], 1) + 0.1 * torch.randn(n, 2)


gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
c_opt = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.9))


def penalty(real, fake):
    eps = torch.rand(len(real), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    (grad,) = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
    return (grad.norm(dim=1) - 1).pow(2).mean()


for it in range(60):
    for _ in range(2):
        real, fake = real_batch(64), gen(torch.randn(64, 4)).detach()
        gp = penalty(real, fake)
        c_loss = critic(fake).mean() - critic(real).mean() + 10 * gp
        c_opt.zero_grad()
        c_loss.backward()
        c_opt.step()
    g_loss = -critic(gen(torch.randn(64, 4))).mean()
    g_opt.zero_grad()
    g_loss.backward()
    g_opt.step()
    if it % 15 == 14:
        print(f"{it + 1} critic {c_loss.item():.3f} penalty {gp.item():.3f}")
