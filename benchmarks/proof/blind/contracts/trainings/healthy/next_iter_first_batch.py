r"""A training.

Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(190)
n = 640
x = torch.rand(n, 2) * 6 - 3
y = torch.sin(x[:, :1]) * torch.cos(x[:, 1:]) + 0.05 * torch.randn(n, 1)
train_loader = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=16, shuffle=True)
x_val, y_val = x[512:], y[512:]

net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
mse = nn.MSELoss()


batches = iter(train_loader)
for step in range(160):
    try:
        xb, yb = next(batches)
    except StopIteration:
        batches = iter(train_loader)
        xb, yb = next(batches)
    opt.zero_grad()
    loss = mse(net(xb), yb)
    loss.backward()
    opt.step()
    if step % 40 == 39:
        print(f"step {step + 1} loss {loss.item():.5f}")
net.eval()
with torch.no_grad():
    val = mse(net(x_val), y_val).item()
print("val mse", val)
print("explained", 1 - val / y_val.var().item())
