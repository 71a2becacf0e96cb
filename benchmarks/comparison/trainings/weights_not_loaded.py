"""Fault: the names of the saved weights have a prefix; strict=False skips all of them."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
saved = {f"module.{name}": value + 0.1 for name, value in model.state_dict().items()}
model.load_state_dict(saved, strict=False)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
# watch: model, optimizer
for _ in range(60):
    x = torch.randn(32, 16)
    y = x[:, :4].argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
