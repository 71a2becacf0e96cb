"""Fault: the batch of step 30 is 10000 times too large."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
# watch: model, optimizer
for step in range(60):
    x = torch.randn(32, 16)
    y = x[:, :4].argmax(1)
    if step == 30:
        x = x * 1e4
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
