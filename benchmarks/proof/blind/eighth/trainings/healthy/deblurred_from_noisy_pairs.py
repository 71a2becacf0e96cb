"""Denoiser for signals of which no clean copy exists, only two noisy ones.

Source: https://github.com/NVlabs/noise2noise
Odd: The target is as noisy as the input, so the loss stays at the variance of the noise; the mean
    of the targets is the clean signal, and that is what the network learns.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(41)
SIGMA = 0.5


def clean_signals(count, length=48):
    t = torch.linspace(0, 1, length)
    phase = 2 * math.pi * torch.rand(count, 1, 1)
    pitch = 1 + 3 * torch.rand(count, 1, 1)
    wave = torch.sin(2 * math.pi * pitch * t + phase)
    return wave + 0.5 * torch.sign(torch.sin(math.pi * pitch * t))


def corrupt(signal):
    return signal + SIGMA * torch.randn_like(signal)


class Denoiser(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.enter = nn.Conv1d(1, width, 5, padding=2)
        self.middle = nn.ModuleList(
            nn.Conv1d(width, width, 5, padding=2 * d, dilation=d) for d in (1, 2, 4)
        )
        self.leave = nn.Conv1d(width, 1, 5, padding=2)

    def forward(self, x):
        h = F.leaky_relu(self.enter(x), 0.1)
        for conv in self.middle:
            h = h + F.leaky_relu(conv(h), 0.1)
        return self.leave(h)


net = Denoiser()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, betas=(0.9, 0.99))
for step in range(250):
    signal = clean_signals(32)
    noisy_input, noisy_target = corrupt(signal), corrupt(signal)
    loss = F.mse_loss(net(noisy_input), noisy_target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.4f} (noise alone {SIGMA**2:.4f})")

net.eval()
with torch.no_grad():
    signal = clean_signals(200)
    noisy = corrupt(signal)
    before = F.mse_loss(noisy, signal).item()
    after = F.mse_loss(net(noisy), signal).item()
print(f"error to the clean signal {before:.4f} before, {after:.4f} after")
