r"""Generator and discriminator for points on a ring.

Source: https://arxiv.org/abs/1606.03498
Odd: The labels of real points are nine tenths and those of fakes are zero, so the loss of the
    discriminator can not reach zero; neither loss falls.
"""

import torch
from torch import nn

torch.manual_seed(4)


def ring(count=128):
    angle = 6.2832 * torch.rand(count, 1)
    return torch.cat([angle.cos(), angle.sin()], 1) * 2 + 0.05 * torch.randn(count, 2)


generator = nn.Sequential(
    nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2)
)
discriminator = nn.Sequential(
    nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
)
g_optimizer = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
d_optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
start = (generator(torch.randn(500, 2)).norm(dim=1) - 2).abs().mean().item()
for step in range(120):
    real, fake = ring(), generator(torch.randn(128, 2))
    real_score, fake_score = discriminator(real), discriminator(fake.detach())
    d_loss = bce(real_score, torch.full_like(real_score, 0.9))
    d_loss = d_loss + bce(fake_score, torch.zeros_like(fake_score))
    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()
    fake_score = discriminator(fake)
    g_loss = bce(fake_score, torch.ones_like(fake_score))
    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
    if step % 30 == 29:
        print(f"step {step} d {d_loss.item():.3f} g {g_loss.item():.3f}")
end = (generator(torch.randn(500, 2)).norm(dim=1) - 2).abs().mean().item()
print(f"distance to the ring: {start:.3f} at first, {end:.3f} at last")
