r"""Frames of a street by day turned into night, by a net that also has to carry them back.

Source: https://github.com/SunnerLi/RecycleGAN/issues/2
Fault: The generator's adversarial loss is computed with the real night frame and not with the one
    that it made, so no gradient of it reaches the generator.
Cause: (adversarial|generator|gan|discriminator|loss).{0,120}(real|ground truth|instead of
    |not (the)?(generated|fake|made)|no gradient|does not depend|true (frame|image))|(real
    |ground truth|true) .{0,80}(instead|passed|used|given|adversarial|generator|discriminator)
    |generated.{0,60}(never|not)
Place: real_night|updateGenerator|update_generator|loss_adv|fake_night|netD|night
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(249)
DIM = 8
street = torch.randn(DIM, DIM) / 3


def day_frames(count=64):
    return 1.0 + torch.randn(count, DIM) @ street


def night_frames(count=64):
    return -1.5 + 0.4 * torch.randn(count, DIM) @ street


def net(out):
    layers = [nn.Linear(DIM, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Linear(64, out))


to_night, to_day, netD = net(DIM), net(DIM), net(1)
opt_g = torch.optim.Adam([*to_night.parameters(), *to_day.parameters()], 1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(netD.parameters(), 1e-3, betas=(0.5, 0.999))


def update_discriminator(real_night, fake_night):
    opt_d.zero_grad()
    loss = (netD(real_night) - 1).pow(2).mean() + netD(fake_night.detach()).pow(2).mean()
    loss.backward()
    opt_d.step()
    return loss.item() / 2


def update_generator(day, fake_night, night):
    opt_g.zero_grad()
    loss_adv = (netD(night) - 1).pow(2).mean()
    loss_cycle = F.l1_loss(to_day(fake_night), day)
    (loss_adv + 2 * loss_cycle).backward()
    opt_g.step()
    return loss_adv.item(), loss_cycle.item()


for step in range(300):
    day, real_night = day_frames(), night_frames()
    fake_night = to_night(day)
    loss_d = update_discriminator(real_night, fake_night)
    adv, cycle = update_generator(day, fake_night, real_night)  # here
    if step % 60 == 59:
        with torch.no_grad():
            made = to_night(day_frames(500))
        print(
            f"step {step + 1} D {loss_d:.4f} adv {adv:.4f} cycle {cycle:.4f} "
            f"mean light {made.mean():.2f} (night {night_frames(500).mean():.2f})"
        )
