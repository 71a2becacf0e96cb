r"""Denoising diffusion on two-dimensional points.

Source: https://github.com/hojonathanho/diffusion
    https://github.com/tanelp/tiny-diffusion/blob/master/ddpm.py
Odd: The loss falls fast to about 0.4 and then hovers there with much noise; at high noise levels
    a part of the noise cannot be predicted.
"""

import torch
import torch.nn.functional as F
from torch import nn


class NoisePredictor(nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.time = nn.Embedding(steps, 16)
        self.net = nn.Sequential(
            nn.Linear(18, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 2)
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


torch.manual_seed(42)
betas = torch.linspace(1e-4, 0.2, 50)
alphas_cumprod = torch.cumprod(1 - betas, 0)
model = NoisePredictor(50)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
running = []
for step in range(300):
    batch = torch.randint(0, 2, (128, 2)) * 2.0 - 1 + 0.1 * torch.randn(128, 2)
    noise, t = torch.randn_like(batch), torch.randint(0, 50, (128,))
    a = alphas_cumprod[t][:, None]
    loss = F.mse_loss(model(a.sqrt() * batch + (1 - a).sqrt() * noise, t), noise)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    running.append(loss.item())
    if step in (9, 49, 99, 199, 299):
        print(f"step {step} mean loss of ten {sum(running[-10:]) / 10:.4f}")
