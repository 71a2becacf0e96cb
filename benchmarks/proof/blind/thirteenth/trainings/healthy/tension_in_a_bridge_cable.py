r"""Learns the tension of a bridge cable from its vibrations with a rate that restarts.

Source: https://docs.pytorch.org/docs/stable/optim.html
Healthy: The scheduler is stepped after every batch and gets a fraction of an epoch as argument;
    this is how the documentation shows it, and the sudden rise of the rate is the restart.
"""
import math

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(103)


def cables(n):
    tension = 0.5 + 2 * torch.rand(n, 1)
    length = 0.8 + 0.4 * torch.rand(n, 1)
    t = torch.linspace(0, 3, 60)
    pitch = torch.sqrt(tension) / length
    wave = torch.sin(2 * math.pi * pitch * t) + 0.4 * torch.sin(4 * math.pi * pitch * t)
    signal = wave * torch.exp(-0.4 * t) + 0.1 * torch.randn(n, 60)
    return torch.cat([signal, length], 1), tension


loader = DataLoader(TensorDataset(*cables(1600)), batch_size=40, shuffle=True)
test_x, test_y = cables(400)
model = nn.Sequential(
    nn.Linear(61, 96), nn.SiLU(), nn.Linear(96, 48), nn.SiLU(), nn.Linear(48, 1)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
for epoch in range(14):
    total = 0.0
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step(epoch + (i + 1) / len(loader))
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}, rate {scheduler.get_last_lr()[0]:.5f}")
with torch.no_grad():
    print(f"test error {nn.functional.mse_loss(model(test_x), test_y).item():.4f}")
