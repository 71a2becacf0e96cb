r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#constructing-it
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(57)
n = 640
x = torch.randn(n, 6) * torch.tensor([1.0, 10.0, 0.1, 1.0, 5.0, 0.5])
y = 2 * x[:, 0] + 0.3 * x[:, 1] - 8 * x[:, 2] + 0.1 * x[:, 3] * x[:, 4] + 0.2 * torch.randn(n)
loader = DataLoader(TensorDataset(x[:512], y[:512]), batch_size=128, shuffle=True)
model = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 1))


def make_optimizer(net):
    return torch.optim.Adam(net.parameters(), lr=8e-3, betas=(0.9, 0.99))


def train_epoch(net, opt):
    net.train()
    total = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(xb).squeeze(1), yb)
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


optimizer = make_optimizer(model)
for epoch in range(25):
    tl = train_epoch(model, optimizer)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {tl:.4f}")
with torch.no_grad():
    print("test", nn.functional.mse_loss(model(x[512:]).squeeze(1), y[512:]).item())
