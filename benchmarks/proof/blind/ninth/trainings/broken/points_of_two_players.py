r"""Points of one heap drawn by a generator, in a class that wraps both nets.

Source: https://github.com/Adversarial-Deep-Learning/code-soup/issues/69
Fault: The gradients of the discriminator are never cleared, so those of all earlier steps and
    those from the steps of the generator add up in it.
Cause: zero_grad|(gradients?|grads?)\b.{0,120}(clear|accumul|add up|pile|reset|zeroed|set to zero
    |sum up|summed|left over|carr)|(clear|zero|reset)(s|ed|ing)?\b.{0,40}(grad)
Place: zero_grad|optimizerD|discriminator|step|netD|optim_d|opt_d
"""

import torch
from torch import nn

torch.manual_seed(351)
NOISE = 4
middle, spread = torch.tensor([2.0, -1.0]), torch.tensor([0.8, 0.4])


def real_points(count):
    return middle + spread * torch.randn(count, 2)


class GAN:
    def __init__(self, lr=1e-3):
        self.generator = nn.Sequential(
            nn.Linear(NOISE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
        )
        self.discriminator = nn.Sequential(
            nn.Linear(2, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, 1),
        )
        self.criterion = nn.BCEWithLogitsLoss()
        betas = (0.5, 0.999)
        self.optimizerD = torch.optim.Adam(self.discriminator.parameters(), lr, betas)
        self.optimizerG = torch.optim.Adam(self.generator.parameters(), lr, betas)

    def step(self, data):
        count = len(data)
        ones, zeros = torch.ones(count, 1), torch.zeros(count, 1)
        fake = self.generator(torch.randn(count, NOISE))
        error_real = self.criterion(self.discriminator(data), ones)
        error_real.backward()
        error_fake = self.criterion(self.discriminator(fake.detach()), zeros)
        error_fake.backward()
        self.optimizerD.step()  # here

        self.generator.zero_grad()
        error_g = self.criterion(self.discriminator(fake), ones)
        error_g.backward()
        self.optimizerG.step()
        return (error_real + error_fake).item(), error_g.item()

    @torch.no_grad()
    def quality(self, count=800):
        points = self.generator(torch.randn(count, NOISE))
        return (points.mean(0) - middle).norm().item(), (points.std(0) - spread).norm().item()


gan = GAN()
for iteration in range(400):
    error_d, error_g = gan.step(real_points(128))
    if iteration % 80 == 79:
        mean_gap, spread_gap = gan.quality()
        print(
            f"iteration {iteration + 1} D {error_d:.4f} G {error_g:.4f} "
            f"middle off by {mean_gap:.3f} spread off by {spread_gap:.3f}"
        )
