r"""A one-dimensional DDPM with a scheduler object in the manner of a well-known library.

Source: https://github.com/huggingface/diffusers/issues/9474
Healthy: beta_prod_t is used as if it were 1 - alpha_prod_t, which is not the product of the betas;
    it is only a strange name, the value is defined in that way and the formulas are right.
"""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


@dataclass
class DDPMSchedulerOutput:
    prev_sample: torch.Tensor
    pred_original_sample: torch.Tensor


class DDPMScheduler:
    def __init__(self, num_train_timesteps=60, beta_start=1e-3, beta_end=0.12, clip_sample=True,
                 clip_sample_range=2.5):
        self.betas = torch.linspace(beta_start, beta_end, num_train_timesteps)
        self.alphas = 1.0 - self.betas
        self.alphas_cumprod = torch.cumprod(self.alphas, dim=0)
        self.one = torch.tensor(1.0)
        self.num_train_timesteps = num_train_timesteps
        self.clip_sample = clip_sample
        self.clip_sample_range = clip_sample_range
        self.timesteps = torch.arange(num_train_timesteps - 1, -1, -1)

    def previous_timestep(self, t):
        return t - 1

    def _get_variance(self, t):
        prev_t = self.previous_timestep(t)
        alpha_prod_t = self.alphas_cumprod[t]
        alpha_prod_t_prev = self.alphas_cumprod[prev_t] if prev_t >= 0 else self.one
        current_beta_t = 1 - alpha_prod_t / alpha_prod_t_prev
        variance = (1 - alpha_prod_t_prev) / (1 - alpha_prod_t) * current_beta_t
        return torch.clamp(variance, min=1e-20)

    def step(self, model_output, timestep, sample):
        t = timestep
        prev_t = self.previous_timestep(t)

        # 1. compute alphas, betas
        alpha_prod_t = self.alphas_cumprod[t]
        alpha_prod_t_prev = self.alphas_cumprod[prev_t] if prev_t >= 0 else self.one
        beta_prod_t = 1 - alpha_prod_t
        beta_prod_t_prev = 1 - alpha_prod_t_prev
        current_alpha_t = alpha_prod_t / alpha_prod_t_prev
        current_beta_t = 1 - current_alpha_t

        # 2. compute predicted original sample from predicted noise
        pred_original_sample = (sample - beta_prod_t ** (0.5) * model_output) \
            / alpha_prod_t ** (0.5)
        if self.clip_sample:
            pred_original_sample = pred_original_sample.clamp(-self.clip_sample_range,
                                                              self.clip_sample_range)

        # 3. coefficients for pred_original_sample x_0 and current sample x_t
        pred_original_sample_coeff = (alpha_prod_t_prev ** (0.5) * current_beta_t) / beta_prod_t
        current_sample_coeff = current_alpha_t ** (0.5) * beta_prod_t_prev / beta_prod_t
        pred_prev_sample = (pred_original_sample_coeff * pred_original_sample
                            + current_sample_coeff * sample)

        # 4. add noise
        if t > 0:
            pred_prev_sample = pred_prev_sample + self._get_variance(t) ** 0.5 \
                * torch.randn_like(sample)
        return DDPMSchedulerOutput(pred_prev_sample, pred_original_sample)

    def add_noise(self, original_samples, noise, timesteps):
        sqrt_alpha_prod = self.alphas_cumprod[timesteps].sqrt().unsqueeze(-1)
        sqrt_one_minus = (1 - self.alphas_cumprod[timesteps]).sqrt().unsqueeze(-1)
        return sqrt_alpha_prod * original_samples + sqrt_one_minus * noise


class UNet1D(nn.Module):
    def __init__(self, length=16, ch=32):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(16, ch), nn.SiLU(), nn.Linear(ch, ch))
        self.c1 = nn.Conv1d(1, ch, 3, padding=1)
        self.c2 = nn.Conv1d(ch, ch, 4, stride=2, padding=1)
        self.c3 = nn.Conv1d(ch, ch, 3, padding=1)
        self.up = nn.ConvTranspose1d(ch, ch, 4, stride=2, padding=1)
        self.c4 = nn.Conv1d(2 * ch, ch, 3, padding=1)
        self.out = nn.Conv1d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        k = torch.exp(-math.log(1000) * torch.arange(8) / 8)
        a = t[:, None].float() * k
        emb = self.time(torch.cat([a.sin(), a.cos()], 1)).unsqueeze(-1)
        h1 = F.silu(self.c1(x.unsqueeze(1)) + emb)
        h2 = F.silu(self.c2(h1) + emb)
        h2 = h2 + F.silu(self.c3(h2))
        h = torch.cat([h1, self.up(h2)], 1)
        return self.out(F.silu(self.c4(h) + emb)).squeeze(1)


def beads(n, length=16):
    """two bright beads on a string, four places apart"""
    pos = torch.randint(2, length - 6, (n,))
    grid = torch.arange(length).float()
    x = torch.exp(-(grid - pos[:, None]) ** 2) + torch.exp(-(grid - pos[:, None] - 4) ** 2)
    return 2 * x - 1


def main(steps=600, batch=48):
    model, scheduler = UNet1D(), DDPMScheduler()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    lr_scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for step in range(steps):
        clean = beads(batch)
        noise = torch.randn_like(clean)
        t = torch.randint(0, scheduler.num_train_timesteps, (batch,))
        loss = F.mse_loss(model(scheduler.add_noise(clean, noise, t), t), noise)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        lr_scheduler.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            print('step %d loss %.4f' % (step, loss.item()))

    model.eval()
    sample = torch.randn(128, 16)
    with torch.no_grad():
        for t in scheduler.timesteps.tolist():
            out = model(sample, torch.full((128,), t))
            sample = scheduler.step(out, t, sample).prev_sample
    bank = beads(2000)
    print('distance of samples to the data %.3f' % torch.cdist(sample, bank).min(1).values.mean())
    print('distance of noise to the data   %.3f' % torch.cdist(
        torch.randn(128, 16), bank).min(1).values.mean())


if __name__ == '__main__':
    main()
