"""A small picture as a function of the place, which is first mapped to random waves.

Source: https://github.com/tancik/fourier-feature-networks
Odd: The first matrix is random, large and never trained; without it the network learns only the
    coarse shape. The batch is the whole grid of every other pixel.
"""

import math

import torch
from torch import nn

torch.manual_seed(217)


def picture(side=48):
    axis = torch.linspace(0, 1, side)
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    checks = torch.sign(torch.sin(24 * x) * torch.sin(18 * y))
    ring = torch.exp(-80 * ((x - 0.5).hypot(y - 0.5) - 0.3).square())
    return torch.stack([x, y], -1), (0.5 + 0.25 * checks * (0.3 + x) + 0.25 * ring)[..., None]


class InputMapping(nn.Module):
    def __init__(self, size=64, scale=3.0):
        super().__init__()
        self.register_buffer("B", scale * torch.randn(size, 2))

    def forward(self, x):
        x = 2 * math.pi * x @ self.B.T
        return torch.cat([x.sin(), x.cos()], dim=-1)


def psnr(a, b):
    return (-10 * (a - b).square().mean().log10()).item()


coords, values = picture()
train_x, train_y = coords[::2, ::2].reshape(-1, 2), values[::2, ::2].reshape(-1, 1)
model = nn.Sequential(
    InputMapping(),
    nn.Linear(128, 96),
    nn.ReLU(),
    nn.Linear(96, 96),
    nn.ReLU(),
    nn.Linear(96, 1),
    nn.Sigmoid(),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for i in range(200):
    loss = 0.5 * (model(train_x) - train_y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 40 == 0:
        print(f"iteration {i} loss {loss.item():.5f}")
with torch.no_grad():
    output = model(coords.reshape(-1, 2)).view_as(values)
mean = values.mean().expand_as(values)
print(
    f"loss {loss.item():.5f} PSNR of all pixels {psnr(output, values):.2f}, "
    f"of the mean {psnr(mean, values):.2f}"
)
