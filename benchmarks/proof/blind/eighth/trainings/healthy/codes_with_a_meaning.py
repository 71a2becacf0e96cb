"""Generator whose code is to have a meaning, without any labels.

Source: https://github.com/Natsu6767/InfoGAN-PyTorch
Odd: The optimizer of the generator also has the head that reads the code, and its loss is minimised
    by both, while the shared body belongs to the discriminator; its losses stay near ln 2.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(277)
CODES, NOISE = 4, 4
corners = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])


def real_points(count=128):
    return corners[torch.randint(0, 4, (count,))] + 0.2 * torch.randn(count, 2)


generator = nn.Sequential(
    nn.Linear(NOISE + CODES, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
)
body = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.1), nn.Linear(64, 64), nn.LeakyReLU(0.1))
netD, netQ = nn.Linear(64, 1), nn.Linear(64, CODES)
optimD = torch.optim.Adam([*body.parameters(), *netD.parameters()], lr=1e-3, betas=(0.5, 0.999))
optimG = torch.optim.Adam([*generator.parameters(), *netQ.parameters()], 2e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()


def noise_sample(count=128):
    code = torch.randint(0, CODES, (count,))
    z = torch.cat([torch.randn(count, NOISE), F.one_hot(code, CODES).float()], 1)
    return z, code


real_label, fake_label = torch.ones(128, 1), torch.zeros(128, 1)
for it in range(350):
    z, code = noise_sample()
    fake = generator(z)
    optimD.zero_grad()
    loss_real = criterion(netD(body(real_points())), real_label)
    loss_fake = criterion(netD(body(fake.detach())), fake_label)
    D_loss = (loss_real + loss_fake) / 2
    D_loss.backward()
    optimD.step()

    optimG.zero_grad()
    features = body(fake)
    gen_loss = criterion(netD(features), real_label)
    dis_loss = F.cross_entropy(netQ(features), code)
    (gen_loss + dis_loss).backward()
    optimG.step()
    if it % 70 == 0:
        print(
            f"[{it}] Loss_D: {D_loss.item():.4f} Loss_G: {gen_loss.item():.4f} "
            f"code: {dis_loss.item():.4f} (by chance {math.log(CODES):.4f})"
        )
with torch.no_grad():
    z, code = noise_sample(800)
    points = generator(z)
    corner = torch.cdist(points, corners).argmin(1)
    same = torch.zeros(CODES, 4).index_put_((code, corner), torch.ones(800), accumulate=True)
    purity = same.max(1).values.sum().item() / 800
    used = len(same.argmax(1).unique())
    gap = (points - corners[corner]).norm(dim=1).mean().item()
print(f"points of a code at one corner {purity:.3f}, corners used {used}, distance {gap:.3f}")
