r"""Probabilistic forecaster of many series with very different levels.

Source: https://github.com/zalandoresearch/pytorch-ts
Odd: Each series is divided by its own mean, and the loss is computed after scaling back.
"""

import math

import torch
from torch import nn


class DeepAR(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.LSTM(2, hidden, batch_first=True)
        self.distribution = nn.Linear(hidden, 2)

    def forward(self, series):
        scale = series.abs().mean(dim=1, keepdim=True).clamp(min=1e-3)
        scaled = series / scale
        h, _ = self.rnn(torch.stack([scaled, scale.log().expand_as(scaled)], dim=-1))
        loc, raw = self.distribution(h).unbind(-1)
        return torch.distributions.Normal(loc * scale, (nn.functional.softplus(raw) + 1e-3) * scale)


def batch(count, length=24):
    level = torch.exp(3 * torch.randn(count, 1))
    phase = 2 * math.pi * torch.rand(count, 1)
    t = torch.arange(length + 1.0)
    series = 2 + torch.sin(2 * math.pi * t / 8 + phase) + 0.1 * torch.randn(count, length + 1)
    return level * series, level


torch.manual_seed(0)
model = DeepAR()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(80):
    series, level = batch(64)
    distribution = model(series[:, :-1])
    loss = -distribution.log_prob(series[:, 1:]).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()
    if step % 20 == 19:
        error = ((distribution.mean - series[:, 1:]) / level)[:, 8:].abs().mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} relative error {error:.4f}")
