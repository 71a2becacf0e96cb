"""Fault: the optimizer was given only the last layer."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model[2].parameters(), lr=1e-3)
# watch: model, optimizer
for _ in range(60):
    x = torch.randn(32, 16)
    y = x[:, :4].argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
