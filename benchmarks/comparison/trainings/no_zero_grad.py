"""Fault: gradients are never set to zero, so each step adds to those before."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
# watch: model, optimizer
for _ in range(60):
    x = torch.randn(32, 16)
    y = x[:, :4].argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
