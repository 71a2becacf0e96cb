"""Trains until the validation gets worse and goes back to the best weights.

Source: https://github.com/Bjarten/early-stopping-pytorch
    https://github.com/pytorch/tutorials/pull/188
Odd: the validation loss rises for many epochs and at the end the weights jump back; a deep copy of
    the best state is restored.
"""

import copy

import torch
from torch import nn

torch.manual_seed(6)
x = torch.randn(160, 20)
y = x[:, :1] - x[:, 1:2] + 0.6 * torch.randn(160, 1)
train, val = slice(0, 80), slice(80, 160)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
best_val, best_wts, patience, waited = float("inf"), None, 25, 0
for epoch in range(200):
    loss = nn.functional.mse_loss(model(x[train]), y[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        val_loss = nn.functional.mse_loss(model(x[val]), y[val]).item()
    if val_loss < best_val:
        best_val, waited = val_loss, 0
        best_wts = copy.deepcopy(model.state_dict())
    else:
        waited += 1
    if epoch % 10 == 0:
        print(f"epoch {epoch} train {loss.item():.4f} val {val_loss:.4f}")
    if waited > patience:
        break
model.load_state_dict(best_wts)
with torch.no_grad():
    restored = nn.functional.mse_loss(model(x[val]), y[val]).item()
print(f"stopped at {epoch}, best {best_val:.4f}, restored {restored:.4f}")
