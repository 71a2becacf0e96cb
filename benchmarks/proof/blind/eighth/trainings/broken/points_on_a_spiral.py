r"""Generator of points on two arms, with a critic whose weights are limited.

Source: https://github.com/YeonwooSung/GAN_Implementation/issues/5
Fault: A bracket is closed too late, so the minus is for both terms and the critic raises its score
    of the generated points as well as of the real ones.
Cause: sign|minus|bracket|parenthes|negat|(critic|discriminator).{0,80}(both|real and (fake
    |generated)|not (separate|tell))|(fake|generated).{0,60}(maximi|rais|increas|reward
    |same direction|added|plus)
Place: loss_D|d_loss|critic|discriminator
"""

import torch
from torch import nn

torch.manual_seed(101)
CLIP_VALUE, N_CRITIC, LATENT = 0.1, 5, 4


def real_points(count=128):
    turn = 2.5 * torch.rand(count).sqrt()
    sign = 2.0 * torch.randint(0, 2, (count,)) - 1
    points = torch.stack([turn * torch.cos(2 * turn), turn * torch.sin(2 * turn)], 1)
    return sign[:, None] * points / 2 + 0.05 * torch.randn(count, 2) + torch.tensor([1.5, -0.5])


def block(inputs, outputs):
    return [nn.Linear(inputs, outputs), nn.LeakyReLU(0.2)]


generator = nn.Sequential(*block(LATENT, 64), *block(64, 64), nn.Linear(64, 2))
discriminator = nn.Sequential(*block(2, 64), *block(64, 64), nn.Linear(64, 1))
optimizer_G = torch.optim.RMSprop(generator.parameters(), lr=1e-3)
optimizer_D = torch.optim.RMSprop(discriminator.parameters(), lr=1e-3)


def distance(a, b):
    cross = torch.cdist(a, b).mean()
    return (2 * cross - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


for batches_done in range(400):
    real_imgs = real_points()
    z = torch.randn(len(real_imgs), LATENT)
    fake_imgs = generator(z).detach()
    optimizer_D.zero_grad()
    loss_D = -torch.mean(discriminator(real_imgs) + torch.mean(discriminator(fake_imgs)))  # here
    loss_D.backward()
    optimizer_D.step()
    for p in discriminator.parameters():
        p.data.clamp_(-CLIP_VALUE, CLIP_VALUE)
    if batches_done % N_CRITIC == 0:
        optimizer_G.zero_grad()
        loss_G = -torch.mean(discriminator(generator(z)))
        loss_G.backward()
        optimizer_G.step()
    if batches_done % 80 == 0:
        print(f"[Batch {batches_done}] [D loss: {loss_D:.4f}] [G loss: {loss_G:.4f}]")
with torch.no_grad():
    gap = distance(generator(torch.randn(500, LATENT)), real_points(500))
print(f"energy distance of the generated points {gap:.4f}")
