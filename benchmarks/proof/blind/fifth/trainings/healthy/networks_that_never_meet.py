r"""Ensemble of networks that each predict a mean and a variance.

Source: https://arxiv.org/abs/1612.01474
Odd: One optimizer holds five networks whose losses are only summed, and the loss gets negative.
"""

import torch
from torch import nn


class Member(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()
        )
        self.mean = nn.Linear(width, 1)
        self.raw = nn.Linear(width, 1)

    def forward(self, x):
        h = self.body(x)
        return self.mean(h), nn.functional.softplus(self.raw(h)) + 1e-4


torch.manual_seed(0)
x = 4 * torch.rand(300, 1) - 2
noise = 0.02 + 0.1 * x.abs()
y = torch.sin(2 * x) + noise * torch.randn(300, 1)
members = nn.ModuleList(Member() for _ in range(5))
criterion = nn.GaussianNLLLoss()
optimizer = torch.optim.Adam(members.parameters(), lr=1e-2)
for epoch in range(100):
    loss = 0.0
    for member in members:
        pick = torch.randint(0, 300, (100,))
        mean, variance = member(x[pick])
        loss = loss + criterion(mean, y[pick], variance)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 25 == 24:
        print(f"epoch {epoch + 1} loss {loss.item():.4f}")
with torch.no_grad():
    means, variances = map(torch.stack, zip(*(member(x) for member in members), strict=True))
mean = means.mean(0)
total = (variances + means.square()).mean(0) - mean.square()
inside = ((y - mean).abs() < 2 * total.sqrt()).float().mean().item()
print(
    f"error {(mean - torch.sin(2 * x)).square().mean().item():.4f}, inside two sigma {inside:.3f}"
)
