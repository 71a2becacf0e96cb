r"""Adversarial generator of small grey pictures.

Source: https://github.com/togheppi/DCGAN/issues/2
Fault: The generator ends in tanh, from -1 to 1, but the real pictures have values from 0 to 255.
Cause: tanh .*(real|target|data|range|reach|bound|255)
    |(real|data|images?|pictures?|targets?) .*(\b255|range|\bscaled?\b|outside)
    |(range|scale) .*(real|data|target|generator|output)|normali[sz]e
Place: \bx_(?=\W)|\bread_images\b
"""

import torch
from torch import nn

torch.manual_seed(0)


def read_images(count):
    y, x = torch.meshgrid(torch.arange(8), torch.arange(8), indexing="ij")
    centre = 2 + 3 * torch.rand(count, 2, 1, 1)
    blob = torch.exp(-((y - centre[:, :1]) ** 2 + (x - centre[:, 1:]) ** 2) / 5.0)
    return (255 * blob).round()


class Generator(nn.Sequential):
    def __init__(self, noise=8):
        super().__init__(
            nn.Linear(noise, 16 * 4),
            nn.Unflatten(1, (16, 2, 2)),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 16, 4, stride=2, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1),
            nn.Tanh(),
        )


class Discriminator(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 16, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(16, 16, 4, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Linear(64, 1),
        )


generator, discriminator = Generator(), Discriminator()
G_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
D_optimizer = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(100):
    x_ = read_images(64)  # here
    fake = generator(torch.randn(64, 8))
    D_loss = criterion(discriminator(x_), ones) + criterion(discriminator(fake.detach()), zeros)
    D_optimizer.zero_grad()
    D_loss.backward()
    D_optimizer.step()
    G_loss = criterion(discriminator(fake), ones)
    G_optimizer.zero_grad()
    G_loss.backward()
    G_optimizer.step()
    if step % 20 == 19:
        print(f"step {step + 1} D_loss {D_loss.item():.4f} G_loss {G_loss.item():.4f}")
print(f"mean of real {x_.mean().item():.3f} and of generated pictures {fake.mean().item():.3f}")
