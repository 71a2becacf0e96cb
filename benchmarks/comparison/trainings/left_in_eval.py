"""Fault: the evaluation after step 20 leaves the model in eval mode."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
# watch: model, optimizer
for step in range(60):
    x = torch.randn(32, 16)
    y = x[:, :4].argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 20:
        model.eval()
        with torch.no_grad():
            correct = (model(x).argmax(1) == y).float().mean()
