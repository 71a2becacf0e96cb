r"""Wasserstein GAN with a gradient penalty on small images.

Source: https://github.com/Zeleni9/pytorch-wgan/issues/40
Fault: The norm of the gradient is over the one channel, so the penalty asks each pixel for 1.
Cause: penalty|gradient\w* .*(norm|element|pixel|channel)|norm .*(element|pixel|channel|dim)
Place: grad_penalty|gradient_penalty|\bgradients\b
"""

import torch
from torch import nn


def gradient_penalty(D, real, fake):
    eta = torch.rand(len(real), 1, 1, 1)
    mixed = (eta * real + (1 - eta) * fake).requires_grad_()
    out = D(mixed)
    gradients = torch.autograd.grad(out, mixed, torch.ones_like(out), create_graph=True)[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean() * 10  # here


torch.manual_seed(0)
grid = torch.linspace(-1, 1, 8)
centre = torch.rand(256, 1, 1, 2) - 0.5
data = torch.exp(-8 * ((grid - centre[..., :1]) ** 2 + (grid[:, None] - centre[..., 1:]) ** 2))
data = data.reshape(256, 1, 8, 8) * 2 - 1
G = nn.Sequential(
    nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh(), nn.Unflatten(1, (1, 8, 8))
)
D = nn.Sequential(nn.Conv2d(1, 16, 3, 2, 1), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(256, 1))
d_optimizer = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
g_optimizer = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
for step in range(40):
    for _ in range(3):
        real = data[torch.randint(0, 256, (32,))]
        fake = G(torch.randn(32, 8)).detach()
        d_loss = D(fake).mean() - D(real).mean() + gradient_penalty(D, real, fake)
        d_optimizer.zero_grad()
        d_loss.backward()
        d_optimizer.step()
    g_loss = -D(G(torch.randn(32, 8))).mean()
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
print(f"critic {d_loss.item():.3f}, generator {g_loss.item():.3f}")
