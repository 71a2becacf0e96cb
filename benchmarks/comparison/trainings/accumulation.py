"""Healthy: the gradients of four batches are added for each step."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
# watch: model, optimizer
for _ in range(60):
    optimizer.zero_grad()
    for _ in range(4):
        x = torch.randn(8, 16)
        y = x[:, :4].argmax(1)
        loss = nn.functional.cross_entropy(model(x), y) / 4
        loss.backward()
    optimizer.step()
