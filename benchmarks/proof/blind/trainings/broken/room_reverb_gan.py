"""A conditional GAN that turns an embedding of a room into a spectrogram of its reverb.

Source: https://github.com/nikhilsinghmus/image2reverb/issues/37
Fault: The generator's adversarial term gets a detached spectrogram, so only the L1 term trains it
    and the discriminator wins.
Cause: detach|no gradient.*(generator|fake)|(generator|adversarial).*(no|never|not).*gradient
Place: fake_spec|generator|netG|\bg\b
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, emb=8, bins=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(emb + 4, 48), nn.ReLU(), nn.Linear(48, bins))

    def forward(self, f):
        return self.net(torch.cat([f, torch.randn(len(f), 4)], dim=1))


class Discriminator(nn.Module):
    def __init__(self, emb=8, bins=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(emb + bins, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))

    def forward(self, spec, f):
        return self.net(torch.cat([spec, f], dim=1))


g, d = Generator(), Discriminator()
g_opt = torch.optim.Adam(g.parameters(), lr=2e-3, betas=(0.5, 0.999))
d_opt = torch.optim.Adam(d.parameters(), lr=2e-3, betas=(0.5, 0.999))
mix = torch.randn(8, 24)

for step in range(200):
    f = torch.randn(64, 8)
    spec = torch.sin(f @ mix) * torch.where(torch.rand(64, 1) > 0.5, 1.0, 0.3)
    fake_spec = g(f)

    d_real, d_fake = d(spec, f), d(fake_spec.detach(), f)
    d_loss = F.mse_loss(d_real, torch.ones_like(d_real)) + d_fake.pow(2).mean()
    d_opt.zero_grad()
    d_loss.backward()
    d_opt.step()

    d_fake2 = d(fake_spec.detach(), f)  # here
    g_loss1 = F.mse_loss(d_fake2, torch.ones_like(d_fake2))
    g_loss2 = F.l1_loss(fake_spec, spec)
    g_opt.zero_grad()
    (g_loss1 + 0.1 * g_loss2).backward()
    g_opt.step()
    if step % 40 == 39:
        print(f"{step} D {d_loss.item():.3f} G_gan {g_loss1.item():.3f} G_l1 {g_loss2.item():.3f}")
