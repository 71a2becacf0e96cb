r"""Predicts a mean and a variance by the likelihood of a Gaussian.

Source: https://pytorch.org/docs/stable/generated/torch.nn.GaussianNLLLoss.html
    https://github.com/chaiyujin/glow-pytorch/issues/13
Odd: The loss becomes negative and keeps falling; a density can be larger than one, so its negative
    logarithm has no bound at zero.
"""

import torch
from torch import nn


class ProbabilisticMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.mean, self.raw_var = nn.Linear(48, 1), nn.Linear(48, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.mean(h), nn.functional.softplus(self.raw_var(h)) + 1e-5


torch.manual_seed(0)
model, criterion = ProbabilisticMLP(), nn.GaussianNLLLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(300):
    x = 4 * torch.rand(128, 1) - 2
    y = torch.sin(2 * x) + 0.03 * (1 + x.abs()) * torch.randn_like(x)
    mean, var = model(x)
    loss = criterion(mean, y, var)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step} nll {loss.item():.4f} sigma {var.sqrt().mean().item():.4f}")
