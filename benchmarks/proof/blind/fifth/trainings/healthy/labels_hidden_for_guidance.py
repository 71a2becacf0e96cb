r"""Diffusion of points with a class that can steer the samples.

Source: https://github.com/lucidrains/classifier-free-guidance-pytorch
Odd: A part of the labels is replaced by an empty class in training, so that guidance is possible.
"""

import math

import torch
from torch import nn

T, CLASSES = 50, 3
betas = torch.linspace(1e-3, 0.15, T)
alpha_bar = (1 - betas).cumprod(0)
places = torch.tensor([[2.0, 0.0], [-1.0, 1.7], [-1.0, -1.7]])


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.classes = nn.Embedding(CLASSES + 1, 16)
        self.net = nn.Sequential(
            nn.Linear(2 + 8 + 16, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()
        )
        self.out = nn.Linear(width, 2)

    def forward(self, x, t, label):
        angle = t[:, None] / T * math.pi * torch.tensor([0.5, 1.0, 2.0, 4.0])
        time = torch.cat([angle.sin(), angle.cos()], dim=1)
        return self.out(self.net(torch.cat([x, time, self.classes(label)], dim=1)))


torch.manual_seed(0)
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(100):
    label = torch.randint(0, CLASSES, (256,))
    x0 = places[label] + 0.2 * torch.randn(256, 2)
    t = torch.randint(0, T, (256,))
    noise = torch.randn_like(x0)
    a = alpha_bar[t][:, None]
    hidden = torch.rand(256) < 0.15
    predicted = model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t, label.where(~hidden, CLASSES))
    loss = (predicted - noise).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(f"step {step} loss {loss.item():.4f}")

label = torch.arange(CLASSES).repeat(60)
x = torch.randn(len(label), 2)
with torch.no_grad():
    for step in reversed(range(T)):
        t = torch.full((len(label),), step)
        with_label, without = model(x, t, label), model(x, t, torch.full_like(label, CLASSES))
        eps = without + 1.5 * (with_label - without)
        x = (x - betas[step] / (1 - alpha_bar[step]).sqrt() * eps) / (1 - betas[step]).sqrt()
        x = x + (betas[step].sqrt() * torch.randn_like(x) if step else 0)
print(
    f"samples of the right class {(torch.cdist(x, places).argmin(1) == label).float().mean():.3f}"
)
