r"""Diffusion model that is told the logarithmic ratio of signal and noise.

Source: https://github.com/Stability-AI/StableCascade/issues/142
Fault: The size of the batch is taken as the time, so each sample has one and the same noise level.
Cause: noise.*(same|constant|equal|identical)
    |(same|constant|equal|identical|single|one) .*(noise|time|\bt\b|log_?snr|input|ratio|value)
    |input\w*.*(constant|same|equal|vary)|(never|not) vary
Place: log_?snr|diffuse
"""

import torch
from torch import nn


class Schedule:
    def __call__(self, t, shape):
        t = torch.full((shape,), float(t)) if isinstance(t, int) else t
        var = torch.cos(t.clamp(0, 1) * torch.pi * 0.49 + 0.01).square().clamp(1e-4, 1 - 1e-4)
        return (var / (1 - var)).log()


class GDF:
    def __init__(self):
        self.schedule = Schedule()

    def diffuse(self, x0):
        t = len(x0)  # here
        log_snr = self.schedule(t, len(x0))
        var = torch.sigmoid(log_snr)[:, None]
        epsilon = torch.randn_like(x0)
        return var.sqrt() * x0 + (1 - var).sqrt() * epsilon, epsilon, log_snr


torch.manual_seed(0)
data = torch.randn(512, 2) * 0.1 + torch.randint(0, 2, (512, 1)) * 2 - 1
gdf = GDF()
net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
for step in range(80):
    x0 = data[torch.randint(0, 512, (64,))]
    noised, epsilon, log_snr = gdf.diffuse(x0)
    pred = net(torch.cat([noised, log_snr[:, None] / 5], 1))
    loss = nn.functional.mse_loss(pred, epsilon)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
