r"""A training of `Generator`.

Source: https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html
Fault: The generator is trained with the fake label, so it minimizes the loss by making its
    samples easier to recognise as fake.
Cause: generator.{0,120}(fake|zero|wrong|easier|recogni|oppos|minimi)
    |(fake|real)[_ ](label|target)|wrong (label|target)|does not work against its discriminator
"""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(218)


def data(n):
    t = torch.rand(n, 1) * 6.283
    return torch.cat([t.cos(), t.sin()], 1) + 0.05 * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, n):
        return self.net(torch.randn(n, 8))


G = Generator()
D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
real_label, fake_label = torch.ones(64, 1), torch.zeros(64, 1)
for step in range(120):
    opt_d.zero_grad()
    d_real = F.binary_cross_entropy_with_logits(D(data(64)), real_label)
    d_fake = F.binary_cross_entropy_with_logits(D(G(64).detach()), fake_label)
    (d_real + d_fake).backward()
    opt_d.step()

    opt_g.zero_grad()
    samples = G(64)
    g_loss = F.binary_cross_entropy_with_logits(D(samples), fake_label)
    g_loss.backward()
    opt_g.step()
    if step % 30 == 29:
        print(f"{step + 1} d {(d_real + d_fake).item():.3f} g {g_loss.item():.3f} radius {samples.norm(dim=1).mean().item():.3f}")
