"""Points on a ring, made from noise by a generator with a clipped critic.

Source: https://github.com/martinarjovsky/WassersteinGAN/issues/80
Odd: The critic is trained down on real and up on made points and the generator down, all with the
    opposite sign to the paper; the critic's output may have any sign, so that is the same game.
"""

import torch
from torch import nn

torch.manual_seed(80)


def ring(count=128):
    turn = 6.2832 * torch.rand(count)
    return torch.stack([turn.cos(), turn.sin()], 1) * 1.5 + 0.05 * torch.randn(count, 2) + 2.0


netG = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
netD = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
optimizerD = torch.optim.RMSprop(netD.parameters(), lr=1e-3)
optimizerG = torch.optim.RMSprop(netG.parameters(), lr=1e-3)
one = torch.tensor(1.0)
mone = one * -1

for gen_iterations in range(240):
    for p in netD.parameters():
        p.requires_grad_(True)
    for _ in range(5):
        for p in netD.parameters():
            p.data.clamp_(-0.1, 0.1)
        netD.zero_grad()
        errD_real = netD(ring()).mean()
        errD_real.backward(one)
        with torch.no_grad():
            fake = netG(torch.randn(128, 4))
        errD_fake = netD(fake).mean()
        errD_fake.backward(mone)
        errD = errD_real - errD_fake
        optimizerD.step()
    for p in netD.parameters():
        p.requires_grad_(False)
    netG.zero_grad()
    errG = netD(netG(torch.randn(128, 4))).mean()
    errG.backward(one)
    optimizerG.step()
    if gen_iterations % 48 == 47:
        with torch.no_grad():
            made = netG(torch.randn(500, 4))
        radius = (made - 2.0).norm(dim=1)
        print(
            f"[{gen_iterations + 1}] Loss_D {errD.item():.4f} Loss_G {errG.item():.4f} "
            f"centre {made.mean().item():.2f} (2.00) radius {radius.mean().item():.2f} (1.50)"
        )
