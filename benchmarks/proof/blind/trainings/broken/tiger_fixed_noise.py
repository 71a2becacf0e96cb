r"""Trains a diffusion model on points of a ring.

Source: https://github.com/Zhiyuan-R/Tiger-Diffusion/issues/15
Fault: The noise is drawn once, before the training, and each sample keeps its own; the network
    memorises it and the error on fresh noise stays higher than the loss.
Cause: noise.*(fixed|once|same|reus|resampl|fresh|memori)|(fixed|same|reus\w+) noise|memori
"""

import torch
import torch.nn.functional as F
from torch import nn

T = 50
betas = torch.linspace(1e-3, 0.15, T)
alphas_cumprod = torch.cumprod(1 - betas, 0)


class DenoiseNet(nn.Module):
    def __init__(self, width=192):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.net = nn.Sequential(
            nn.Linear(2 + 16, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, 2),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=1))


def q_sample(x0, t, noise):
    a = alphas_cumprod[t][:, None]
    return a.sqrt() * x0 + (1 - a).sqrt() * noise


def ring(n):
    angle = 6.2832 * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], 1)


torch.manual_seed(0)
train_points = ring(64)
noises_init = torch.randn_like(train_points)
model = DenoiseNet()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(300):
    idx = torch.randint(0, 64, (64,))
    x, noise_batch = train_points[idx], noises_init[idx]  # here
    t = torch.randint(0, T, (64,))
    loss = F.mse_loss(model(q_sample(x, t, noise_batch), t), noise_batch)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 59:
        with torch.no_grad():
            x, t, noise = ring(512), torch.randint(0, T, (512,)), torch.randn(512, 2)
            fresh = F.mse_loss(model(q_sample(x, t, noise), t), noise).item()
        print(f"step {step} loss {loss.item():.4f} loss with fresh noise {fresh:.4f}")
