r"""A denoiser with Karras preconditioning, an inverse decay schedule with warm-up and a moving
average.

Source: https://github.com/crowsonkb/k-diffusion/issues/50
Healthy: sched.step() is called for each batch without an epoch and the rate climbs within few
    calls; warm-up and decay are given in steps, not in epochs, so this is intended.
"""
import copy
import math

import torch
import torch.nn as nn

torch.manual_seed(1)

SIGMA_DATA = 0.7


class InverseLR(torch.optim.lr_scheduler.LRScheduler):
    """inverse decay schedule with exponential warm-up, in steps"""

    def __init__(self, optimizer, inv_gamma=1., power=1., warmup=0., final_lr=0., last_epoch=-1):
        self.inv_gamma = inv_gamma
        self.power = power
        self.warmup = warmup
        self.final_lr = final_lr
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        warmup = 1 - self.warmup ** (self.last_epoch + 1)
        lr_mult = (1 + self.last_epoch / self.inv_gamma) ** -self.power
        return [warmup * max(self.final_lr, base_lr * lr_mult) for base_lr in self.base_lrs]


class EMAWarmup:
    def __init__(self, inv_gamma=1., power=2 / 3, max_value=0.995):
        self.inv_gamma, self.power, self.max_value = inv_gamma, power, max_value
        self.last_epoch = 0

    def get_value(self):
        value = 1 - (1 + self.last_epoch / self.inv_gamma) ** -self.power
        return max(0., min(self.max_value, value))

    def step(self):
        self.last_epoch += 1


class Inner(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.register_buffer('freq', torch.randn(16) * 2)
        self.emb = nn.Linear(32, width)
        self.inp = nn.Linear(2, width)
        self.h1 = nn.Linear(width, width)
        self.h2 = nn.Linear(width, width)
        self.out = nn.Linear(width, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, c_noise):
        f = 2 * math.pi * c_noise[:, None] * self.freq
        e = self.emb(torch.cat([f.cos(), f.sin()], dim=1))
        h = nn.functional.silu(self.inp(x) + e)
        h = h + nn.functional.silu(self.h1(h) + e)
        h = h + nn.functional.silu(self.h2(h) + e)
        return self.out(h)


class Denoiser(nn.Module):
    """a Karras et al. preconditioner"""

    def __init__(self, inner_model, sigma_data=SIGMA_DATA):
        super().__init__()
        self.inner_model = inner_model
        self.sigma_data = sigma_data

    def get_scalings(self, sigma):
        c_skip = self.sigma_data ** 2 / (sigma ** 2 + self.sigma_data ** 2)
        c_out = sigma * self.sigma_data / (sigma ** 2 + self.sigma_data ** 2) ** 0.5
        c_in = 1 / (sigma ** 2 + self.sigma_data ** 2) ** 0.5
        return c_skip, c_out, c_in

    def loss(self, input, noise, sigma):
        c_skip, c_out, c_in = [s[:, None] for s in self.get_scalings(sigma)]
        noised = input + noise * sigma[:, None]
        model_output = self.inner_model(noised * c_in, sigma.log() / 4)
        target = (input - c_skip * noised) / c_out
        return (model_output - target).pow(2).mean(1)

    def forward(self, input, sigma):
        c_skip, c_out, c_in = [s[:, None] for s in self.get_scalings(sigma)]
        return self.inner_model(input * c_in, sigma.log() / 4) * c_out + input * c_skip


def spiral(n):
    t = torch.rand(n).sqrt() * 3 * math.pi
    arm = torch.stack([t.cos(), t.sin()], 1) * (t / (3 * math.pi)).unsqueeze(1) * 1.5
    return arm + 0.03 * torch.randn(n, 2)


@torch.no_grad()
def sample_euler(model, x, sigmas):
    for i in range(len(sigmas) - 1):
        denoised = model(x, sigmas[i].expand(len(x)))
        d = (x - denoised) / sigmas[i]
        x = x + d * (sigmas[i + 1] - sigmas[i])
    return x


@torch.no_grad()
def ema_update(model, averaged_model, decay):
    for a, p in zip(averaged_model.parameters(), model.parameters()):
        a.mul_(decay).add_(p, alpha=1 - decay)


def main(steps=1200, batch=192):
    model = Denoiser(Inner())
    model_ema = copy.deepcopy(model)
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3, betas=(0.95, 0.999), eps=1e-6)
    sched = InverseLR(opt, inv_gamma=400., power=0.7, warmup=0.98)
    ema_sched = EMAWarmup()
    for step in range(steps):
        reals = spiral(batch)
        noise = torch.randn_like(reals)
        sigma = (torch.randn(batch) * 1.2 - 1.6).exp()
        loss = model.loss(reals, noise, sigma).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        ema_update(model, model_ema, ema_sched.get_value())
        ema_sched.step()
        if step % 200 == 0:
            print('step: %d, loss: %.4f, lr %.5f' % (step, loss.item(), sched.get_last_lr()[0]))

    ramp = torch.linspace(0, 1, 25)
    sigmas = (5.0 ** (1 / 5) + ramp * (0.01 ** (1 / 5) - 5.0 ** (1 / 5))) ** 5
    sigmas = torch.cat([sigmas, torch.zeros(1)])
    x = sample_euler(model_ema, torch.randn(600, 2) * 5.0, sigmas)
    data = spiral(2000)
    print('samples to data %.4f' % torch.cdist(x, data).min(1).values.mean())
    print('data to samples %.4f' % torch.cdist(data, x).min(1).values.mean())
    print('normal noise to data %.4f' % torch.cdist(torch.randn(600, 2), data).min(1).values.mean())


if __name__ == '__main__':
    main()
