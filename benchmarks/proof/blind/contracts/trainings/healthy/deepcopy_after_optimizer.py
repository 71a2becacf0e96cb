r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#constructing-it
Healthy: the right twin of the broken case of this name.
"""

import copy
import torch
from torch import nn

torch.manual_seed(53)
x = torch.randn(500, 7)
y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs() - x[:, 3]], 1) + 0.1 * torch.randn(500, 2)
xtr, ytr, xva, yva = x[:400], y[:400], x[400:], y[400:]

template = nn.Sequential(nn.Linear(7, 40), nn.ReLU(), nn.Linear(40, 2))
criterion = nn.SmoothL1Loss()
results = {}
for lr in (1e-3, 1e-2):
    model = copy.deepcopy(template)
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(10):
        for idx in torch.randperm(400).split(50):
            model.zero_grad()
            loss = criterion(model(xtr[idx]), ytr[idx])
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        results[lr] = criterion(model(xva), yva).item()
    print(f"lr {lr}: train {loss.item():.4f} val {results[lr]:.4f}")
print("best lr", min(results, key=results.get))
