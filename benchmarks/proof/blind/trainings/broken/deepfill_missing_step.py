r"""Inpaints the middle of small images with a patch discriminator.

Source: https://github.com/zhaoyuzhi/deepfillv2/issues/6
Fault: The discriminator's optimizer never steps, so it keeps its random weights and the adversarial
    term teaches nothing.
Cause: optimizer_d|discriminator.*(never|not|no|missing).*(step|updat|chang|train)|missing.*step
Place: discriminator|optimizer_d
"""

import torch
import torch.nn.functional as F
from torch import nn


def weights_init(net):
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight)


def trainer(epochs=120, lr_g=2e-3, lr_d=2e-3, lambda_gan=0.05):
    torch.manual_seed(0)
    generator = nn.Sequential(
        nn.Conv2d(2, 16, 5, padding=2),
        nn.ELU(),
        nn.Conv2d(16, 16, 5, padding=2),
        nn.ELU(),
        nn.Conv2d(16, 1, 3, padding=1),
    )
    discriminator = nn.Sequential(
        nn.Conv2d(2, 16, 5, stride=2), nn.LeakyReLU(0.2), nn.Conv2d(16, 1, 3)
    )
    weights_init(generator)
    weights_init(discriminator)
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=lr_g)
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=lr_d)
    mask = torch.zeros(16, 1, 12, 12)
    mask[:, :, 4:8, 4:8] = 1
    grid = torch.arange(12).float()
    for epoch in range(epochs):
        freq = 0.3 + torch.rand(16, 1, 1, 1)
        img = torch.sin(freq * grid.view(1, 1, -1, 1)) * torch.sin(freq * grid.view(1, 1, 1, -1))
        out = generator(torch.cat([img * (1 - mask), mask], 1))
        fake = img * (1 - mask) + out * mask

        optimizer_d.zero_grad()
        fake_scalar = discriminator(torch.cat([fake.detach(), mask], 1))
        true_scalar = discriminator(torch.cat([img, mask], 1))
        loss_d = F.relu(1 - true_scalar).mean() + F.relu(1 + fake_scalar).mean()
        loss_d.backward()  # here

        optimizer_g.zero_grad()
        mask_l1 = ((fake - img).abs() * mask).sum() / mask.sum()
        loss_gan = -discriminator(torch.cat([fake, mask], 1)).mean()
        (mask_l1 + lambda_gan * loss_gan).backward()
        optimizer_g.step()
        if epoch % 20 == 19:
            print(f"[Epoch {epoch}] [L1 {mask_l1:.4f}] [D {loss_d:.4f}] [G {loss_gan:.4f}]")


trainer()
