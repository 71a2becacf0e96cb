r"""A Wasserstein GAN with gradient penalty; the generator moves once per three critic steps.

Source: https://github.com/eriklindernoren/PyTorch-GAN/blob/master/implementations/wgan_gp/wgan_gp.py
    https://github.com/caogang/wgan-gp/issues/4
Odd: The losses are negative or grow, and the generator has no step in most iterations; the critic's
    loss is minus a distance, which shrinks towards zero.
"""

import torch
from torch import autograd, nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
discriminator = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
optimizer_G = torch.optim.Adam(generator.parameters(), lr=5e-3, betas=(0.5, 0.9))
optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=5e-3, betas=(0.5, 0.9))
n_critic, lambda_gp = 3, 10
mean = torch.tensor([3.0, 3.0])


def compute_gradient_penalty(D, real_samples, fake_samples):
    alpha = torch.rand(real_samples.size(0), 1)
    interpolates = (alpha * real_samples + (1 - alpha) * fake_samples).requires_grad_(True)
    d_interpolates = D(interpolates)
    gradients = autograd.grad(
        d_interpolates, interpolates, torch.ones_like(d_interpolates), create_graph=True
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


for i in range(300):
    real_imgs = mean + 0.5 * torch.randn(64, 2)
    optimizer_D.zero_grad()
    fake_imgs = generator(torch.randn(64, 3))
    gp = compute_gradient_penalty(discriminator, real_imgs, fake_imgs.detach())
    d_loss = discriminator(fake_imgs.detach()).mean() - discriminator(real_imgs).mean()
    d_loss = d_loss + lambda_gp * gp
    d_loss.backward()
    optimizer_D.step()
    optimizer_G.zero_grad()
    if i % n_critic == 0:
        g_loss = -discriminator(generator(torch.randn(64, 3))).mean()
        g_loss.backward()
        optimizer_G.step()
    if i % 60 == 0 or i == 299:
        gap = (fake_imgs.mean(0) - mean).norm().item()
        print(f"[{i}] D {d_loss.item():.3f} G {g_loss.item():.3f} distance {gap:.3f}")
