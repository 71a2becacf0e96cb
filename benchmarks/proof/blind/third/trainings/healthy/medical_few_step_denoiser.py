r"""Denoiser of a two-dimensional density with few noise levels.

Source: https://github.com/mirthAI/Fast-DDPM/issues/18
Odd: The schedule has 1000 levels but only ten of them are trained, the ten that sampling uses.
"""

import torch
from torch import nn

torch.manual_seed(0)
alphas_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), dim=0)
levels = torch.linspace(0, 999, 10).long()
net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(300):
    x0 = torch.rand(128, 2) * 2 - 1
    t = levels[torch.randint(0, 10, (128,))]
    a = alphas_bar[t][:, None]
    noise = torch.randn_like(x0)
    x_t = a.sqrt() * x0 + (1 - a).sqrt() * noise
    loss = (net(torch.cat([x_t, t[:, None] / 1000], dim=1)) - noise).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
