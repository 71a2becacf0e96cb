"""Trains a Wasserstein GAN with weight clipping and five critic steps for one of the generator.

Source: https://github.com/martinarjovsky/WassersteinGAN/issues/27
    https://github.com/martinarjovsky/WassersteinGAN/issues/3
Odd: the critic has no sigmoid, its loss is negative and its weights are clamped after each step;
    this is the estimate of a distance, which shrinks as the generator learns.
"""

import torch
from torch import nn

torch.manual_seed(8)
netG = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
netD = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
optimizerD = torch.optim.RMSprop(netD.parameters(), lr=5e-3)
optimizerG = torch.optim.RMSprop(netG.parameters(), lr=5e-3)
CLAMP = 0.1


def real_samples(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], 1) + torch.tensor([3.0, 0.0])


for gen_iterations in range(80):
    for _ in range(5):
        for p in netD.parameters():
            p.data.clamp_(-CLAMP, CLAMP)
        optimizerD.zero_grad()
        with torch.no_grad():
            fake = netG(torch.randn(64, 4))
        errD = netD(fake).mean() - netD(real_samples(64)).mean()
        errD.backward()
        optimizerD.step()
    optimizerG.zero_grad()
    fake = netG(torch.randn(64, 4))
    errG = -netD(fake).mean()
    errG.backward()
    optimizerG.step()
    if gen_iterations % 16 == 0 or gen_iterations == 79:
        print(f"{gen_iterations} Loss_D {errD.item():.4f} x {fake[:, 0].mean().item():.3f}")
