"""Generator of points on a ring; the slope of the discriminator at real points is punished.

Source: https://github.com/LMescheder/GAN_stability
Odd: The losses of both networks come to rest near ln 2 and hardly move afterwards, which is the
    equilibrium; the penalty needs a second derivative and is taken at the real points only.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(223)


def real_points(count=128):
    angle = 2 * math.pi * torch.rand(count)
    radius = 1 + 0.05 * torch.randn(count)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1)


def mlp(inputs, outputs, hidden=64):
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden),
        nn.LeakyReLU(0.2),
        nn.Linear(hidden, outputs),
    )


def compute_grad2(d_out, x_in):
    grad = torch.autograd.grad(d_out.sum(), x_in, create_graph=True)[0]
    return grad.square().sum(1)


class Trainer:
    def __init__(self, generator, discriminator, reg_param=1.0):
        self.generator, self.discriminator = generator, discriminator
        self.g_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.0, 0.99))
        self.d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.0, 0.99))
        self.reg_param = reg_param

    def generator_trainstep(self, z):
        self.g_optimizer.zero_grad()
        gloss = F.softplus(-self.discriminator(self.generator(z))).mean()
        gloss.backward()
        self.g_optimizer.step()
        return gloss.item()

    def discriminator_trainstep(self, x_real, z):
        self.d_optimizer.zero_grad()
        x_real = x_real.requires_grad_()
        d_real = self.discriminator(x_real)
        dloss_real = F.softplus(-d_real).mean()
        reg = self.reg_param * compute_grad2(d_real, x_real).mean()
        with torch.no_grad():
            x_fake = self.generator(z)
        dloss_fake = F.softplus(self.discriminator(x_fake)).mean()
        (dloss_real + dloss_fake + reg / 2).backward()
        self.d_optimizer.step()
        return (dloss_real + dloss_fake).item() / 2


def energy_distance(a, b):
    between = 2 * torch.cdist(a, b).mean()
    return (between - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


trainer = Trainer(mlp(4, 2), mlp(2, 1))
with torch.no_grad():
    before = energy_distance(trainer.generator(torch.randn(600, 4)), real_points(600))
for it in range(300):
    dloss = trainer.discriminator_trainstep(real_points(), torch.randn(128, 4))
    gloss = trainer.generator_trainstep(torch.randn(128, 4))
    if it % 60 == 0:
        print(f"it {it} g_loss {gloss:.4f} d_loss {dloss:.4f}")
with torch.no_grad():
    after = energy_distance(trainer.generator(torch.randn(600, 4)), real_points(600))
print(f"energy distance to the ring {before:.4f} before, {after:.4f} after")
