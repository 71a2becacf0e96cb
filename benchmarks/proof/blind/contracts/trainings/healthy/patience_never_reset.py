r"""A training.

Source: https://lightning.ai/docs/pytorch/stable/common/early_stopping.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(200)
n = 500
x = torch.rand(n, 3) * 4 - 2
y = (torch.sin(3 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * torch.randn(n)).unsqueeze(1)
loader = DataLoader(TensorDataset(x[:350], y[:350]), batch_size=70, shuffle=True)
xv, yv = x[350:], y[350:]

model = nn.Sequential(nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
mse = nn.MSELoss()
patience, bad_epochs, best = 5, 0, float("inf")
for epoch in range(40):
    model.train()
    for xb, yb in loader:
        opt.zero_grad()
        mse(model(xb), yb).backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        val = mse(model(xv), yv).item()
    if val < best:
        best = val
        bad_epochs = 0
    else:
        bad_epochs += 1
    if bad_epochs >= patience:
        print("early stop")
        break
print(f"finished at epoch {epoch}, best val mse {best:.4f}")
