r"""A training.

Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
Fault: Each step takes next(iter(loader)) from an unshuffled loader, which restarts it, so only
    the first batch is ever trained on.
Cause: next\(iter|(first|same) batch|restart|new iterator|iter\(
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(190)
n = 640
x = torch.rand(n, 2) * 6 - 3
y = torch.sin(x[:, :1]) * torch.cos(x[:, 1:]) + 0.05 * torch.randn(n, 1)
train_loader = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=16)
x_val, y_val = x[512:], y[512:]

net = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
mse = nn.MSELoss()


for step in range(160):
    xb, yb = next(iter(train_loader))
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
