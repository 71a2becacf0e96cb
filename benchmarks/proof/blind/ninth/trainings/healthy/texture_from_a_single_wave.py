"""New waves from a single one, by a pair of nets at a coarse and then at a fine scale.

Source: https://github.com/tamarott/SinGAN
Odd: The whole training set is one example, the generator of the coarse scale is frozen when the
    fine one is trained, the losses of the judge are negative, and one fixed noise must give the
    example.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1018)
LENGTH, ALPHA, LAMBDA = 48, 10.0, 0.1
time = torch.linspace(0, 12.6, LENGTH)
real_fine = (torch.sin(time) + 0.4 * torch.sin(5 * time))[None, None]
scales = [F.avg_pool1d(real_fine, 2), real_fine]


def net():
    layers = [nn.Conv1d(1, 24, 5, padding=2), nn.LeakyReLU(0.2)]
    layers += [nn.Conv1d(24, 24, 5, padding=2), nn.LeakyReLU(0.2), nn.Conv1d(24, 1, 5, padding=2)]
    return nn.Sequential(*layers)


def gradient_penalty(judge, real, fake):
    alpha = torch.rand(1, 1, 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    (grad,) = torch.autograd.grad(judge(mixed).mean(), mixed, create_graph=True)
    return LAMBDA * ((grad.norm(2, dim=1) - 1) ** 2).mean()


def train_single_scale(real, prev_rec, draw_prev, amp):
    generator, judge = net(), net()
    opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(judge.parameters(), lr=2e-3, betas=(0.5, 0.999))
    z_opt = torch.randn_like(real) if prev_rec is None else torch.zeros_like(real)
    base_rec = torch.zeros_like(real) if prev_rec is None else prev_rec

    def make(noise, base):
        return generator(amp * noise + base) + base

    for step in range(90):
        base = draw_prev(real)
        fake = make(torch.randn_like(real), base)
        loss_d = judge(fake.detach()).mean() - judge(real).mean()
        loss_d = loss_d + gradient_penalty(judge, real, fake.detach())
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        rec_loss = F.mse_loss(make(z_opt, base_rec), real)
        loss_g = -judge(fake).mean() + ALPHA * rec_loss
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if step % 30 == 29:
            print(f"step {step + 1} judge {loss_d.item():.4f} example off by {rec_loss.item():.4f}")
    generator.requires_grad_(False)
    return make, make(z_opt, base_rec).detach()


first, rec = train_single_scale(scales[0], None, torch.zeros_like, amp=1.0)


def larger(x):
    return F.interpolate(x, scale_factor=2, mode="linear", align_corners=False)


def draw_coarse(real):
    noise = torch.randn_like(scales[0])
    return larger(first(noise, torch.zeros_like(noise)))


second, rec = train_single_scale(scales[1], larger(rec), draw_coarse, amp=0.1)
drawn = torch.cat([second(torch.randn_like(real_fine), draw_coarse(real_fine)) for _ in range(50)])
print(f"spread of drawn waves {drawn.std():.3f}, of the example {real_fine.std():.3f}")
