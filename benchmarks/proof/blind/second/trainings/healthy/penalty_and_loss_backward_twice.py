"""Trains a conditional tabular GAN's critic with two backward calls per step.

Source: https://github.com/sdv-dev/CTGAN/issues/37
Odd: the penalty is backpropagated with retain_graph=True and then the loss, into the same
    gradients; both are meant to add up before the step.
"""

import torch
from torch import nn

torch.manual_seed(4)
generator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
discriminator = nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=5e-3, betas=(0.5, 0.9))
mixing = torch.randn(4, 4)


def calc_gradient_penalty(real, fake, lambda_=10):
    alpha = torch.rand(real.size(0), 1)
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_()
    scores = discriminator(interpolates)
    (grad,) = torch.autograd.grad(scores, interpolates, torch.ones_like(scores), create_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean() * lambda_


for i in range(300):
    real = 0.3 * torch.randn(64, 4) @ mixing + 2.0
    fake = generator(torch.randn(64, 8))
    pen = calc_gradient_penalty(real, fake)
    loss_d = -(discriminator(real).mean() - discriminator(fake).mean())
    optimizer_d.zero_grad(set_to_none=False)
    pen.backward(retain_graph=True)
    loss_d.backward()
    optimizer_d.step()

    fake = generator(torch.randn(64, 8))
    loss_g = -discriminator(fake).mean()
    optimizer_g.zero_grad(set_to_none=False)
    loss_g.backward()
    optimizer_g.step()
    if i % 50 == 0 or i == 299:
        gap = (fake.mean(0) - 2.0).norm().item()
        print(f"step {i} loss_d {loss_d.item():.3f} loss_g {loss_g.item():.3f} gap {gap:.3f}")
