"""Healthy: a generator and a discriminator, which take turns."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 8))
discriminator = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
of_discriminator = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
# watch: generator, of_generator
# watch: discriminator, of_discriminator
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
for _ in range(60):
    real = torch.randn(32, 8) * 0.5 + 1
    fake = generator(torch.randn(32, 4))
    loss = criterion(discriminator(real), ones) + criterion(discriminator(fake.detach()), zeros)
    of_discriminator.zero_grad()
    loss.backward()
    of_discriminator.step()
    loss = criterion(discriminator(fake), ones)
    of_generator.zero_grad()
    loss.backward()
    of_generator.step()
