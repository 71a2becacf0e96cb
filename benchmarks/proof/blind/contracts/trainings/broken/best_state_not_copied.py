r"""A training.

Source: https://docs.pytorch.org/docs/stable/notes/serialization.html
Fault: The best weights are kept as model.state_dict() without a copy, so they keep changing with
    the training and the restored model is the last one.
Cause: copy|clone|alias|reference|state_dict.{0,80}(live|same|share|view|refer|chang)
    |shares? (memory|storage)
"""

import copy
import torch
from torch import nn

torch.manual_seed(15)
x = torch.rand(160, 1) * 6 - 3
y = torch.sin(x) + 0.35 * torch.randn_like(x)
xtr, ytr, xva, yva = x[:40], y[:40], x[40:], y[40:]

model = nn.Sequential(nn.Linear(1, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
mse = nn.MSELoss()
best, best_state, best_epoch = float("inf"), None, -1

for epoch in range(180):
    model.train()
    opt.zero_grad()
    loss = mse(model(xtr), ytr)
    loss.backward()
    opt.step()
    model.eval()
    with torch.no_grad():
        val = mse(model(xva), yva).item()
    if val < best:
        best, best_epoch = val, epoch
        best_state = model.state_dict()
    if epoch % 45 == 44:
        print(f"epoch {epoch + 1} train {loss.item():.4f} val {val:.4f}")

model.load_state_dict(best_state)
model.eval()
with torch.no_grad():
    print(f"best epoch {best_epoch} val {best:.4f} restored {mse(model(xva), yva).item():.4f}")
