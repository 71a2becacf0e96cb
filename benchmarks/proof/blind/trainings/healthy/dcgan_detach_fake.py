r"""A small GAN in the order of the DCGAN example: discriminator first, then generator.

Source: https://github.com/pytorch/examples/blob/main/dcgan/main.py
    https://github.com/eriklindernoren/PyTorch-GAN/issues/179
Odd: The generator's step leaves gradients in the discriminator and both losses hover around a
    constant; the next step clears the former, and the samples do move onto the data.
"""

import torch
from torch import nn, optim

torch.manual_seed(999)


def weights_init(m):
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, 0.0, 0.1)
        nn.init.zeros_(m.bias)


netG = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
netD = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCEWithLogitsLoss()
optimizerD = optim.Adam(netD.parameters(), lr=5e-3, betas=(0.5, 0.999))
optimizerG = optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
center = torch.tensor([2.0, -1.0])

for i in range(300):
    netD.zero_grad()
    real = center + 0.3 * torch.randn(64, 2)
    errD_real = criterion(netD(real), torch.ones(64, 1))
    errD_real.backward()
    fake = netG(torch.randn(64, 4))
    errD_fake = criterion(netD(fake.detach()), torch.zeros(64, 1))
    errD_fake.backward()
    optimizerD.step()

    netG.zero_grad()
    errG = criterion(netD(fake), torch.ones(64, 1))
    errG.backward()
    optimizerG.step()
    if i % 50 == 49:
        gap = (fake.mean(0) - center).norm().item()
        print(
            f"[{i}] Loss_D {(errD_real + errD_fake).item():.3f} Loss_G {errG.item():.3f} {gap:.3f}"
        )
