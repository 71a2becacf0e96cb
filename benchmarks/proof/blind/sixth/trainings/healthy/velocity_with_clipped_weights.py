r"""Diffusion on points with the prediction of the velocity.

Source: https://github.com/TiankaiHang/Min-SNR-Diffusion-Training
Odd: The loss at each time has a weight from the ratio of signal and noise with an upper bound, and
    the target is neither the noise nor the data.
"""

import torch
from torch import nn

torch.manual_seed(2)
T, snr_gamma = 100, 5.0
betas = torch.linspace(1e-3, 0.06, T)
alphas_bar = torch.cumprod(1 - betas, 0)
snr = alphas_bar / (1 - alphas_bar)
loss_weight = snr.clamp(max=snr_gamma) / (snr + 1)


def moons(count):
    angle = 3.1416 * torch.rand(count)
    upper = torch.randint(0, 2, (count,)).float() * 2 - 1
    x = torch.stack([angle.cos() + 0.5 * upper - 0.0, upper * (angle.sin() - 0.3)], 1)
    return x + 0.03 * torch.randn(count, 2)


class Velocity(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.register_buffer("rates", 2.0 ** torch.arange(4) * 0.5)
        self.net = nn.Sequential(
            nn.Linear(10, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2)
        )

    def forward(self, x, t):
        angle = t[:, None] / T * self.rates * 3.1416
        return self.net(torch.cat([x, angle.sin(), angle.cos()], 1))


model = Velocity()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(120):
    x0, noise = moons(256), torch.randn(256, 2)
    t = torch.randint(0, T, (256,))
    a, s = alphas_bar[t].sqrt()[:, None], (1 - alphas_bar[t]).sqrt()[:, None]
    v = a * noise - s * x0
    mse = (model(a * x0 + s * noise, t) - v).square().mean(1)
    loss = (loss_weight[t] * mse).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.4f}")
with torch.no_grad():
    x = torch.randn(500, 2)
    for i in reversed(range(T)):
        a, s = alphas_bar[i].sqrt(), (1 - alphas_bar[i]).sqrt()
        v = model(x, torch.full((500,), i))
        data, noise = a * x - s * v, s * x + a * v
        before = alphas_bar[i - 1] if i else torch.tensor(1.0)
        x = before.sqrt() * data + (1 - before).sqrt() * noise
    real = moons(500)
    drawn = torch.cdist(x, real).amin(1).mean().item()
    noise = torch.cdist(torch.randn(500, 2), real).amin(1).mean().item()
print(f"distance to the data: samples {drawn:.3f}, noise {noise:.3f}")
