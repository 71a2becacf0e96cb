"""A denoiser of points with a moving average, in the style of minimal DDPM scripts."""

import copy
import json
import math

import torch
from torch import nn

torch.manual_seed(23)
T = 50
betas = torch.linspace(1e-4, 0.1, T)
alphas_bar = torch.cumprod(1 - betas, 0)


class SinusoidalEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        half = dim // 2
        self.register_buffer("freqs", torch.exp(-math.log(1000) * torch.arange(half) / half))

    def forward(self, t):
        angles = t[:, None].float() * self.freqs[None]
        return torch.cat([angles.sin(), angles.cos()], 1)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(SinusoidalEmbedding(16), nn.Linear(16, 64), nn.SiLU())
        self.inp, self.mid = nn.Linear(2, 64), nn.Linear(64, 64)
        self.norm = nn.GroupNorm(8, 64)
        self.out = nn.Linear(64, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        h = nn.functional.silu(self.inp(x) + self.time(t))
        return self.out(nn.functional.silu(self.norm(self.mid(h))))


@torch.no_grad()
def sample(net, count):
    x = torch.randn(count, 2)
    for t in reversed(range(T)):
        eps = net(x, torch.full((count,), t))
        x = (x - betas[t] / (1 - alphas_bar[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
        x = x + (betas[t].sqrt() * torch.randn_like(x) if t else 0)
    return x


model = Denoiser()
ema = copy.deepcopy(model).eval().requires_grad_(False)
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0)
losses = []
for step in range(150):
    angle = torch.rand(128) * 2 * math.pi
    x0 = torch.stack([angle.cos(), angle.sin()], 1)
    t, noise = torch.randint(T, (128,)), torch.randn(128, 2)
    a = alphas_bar[t][:, None]
    loss = nn.functional.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    losses.append(loss.item())
    with torch.no_grad():
        for e, p in zip(ema.parameters(), model.parameters(), strict=True):
            e.lerp_(p, 0.05)
    if step % 50 == 0:
        print(step, loss.item(), sample(ema, 16).norm(dim=1).mean().item())
print("TRUTH", json.dumps({"model": ["AdamW", 150, losses[0], losses[-1]]}))
