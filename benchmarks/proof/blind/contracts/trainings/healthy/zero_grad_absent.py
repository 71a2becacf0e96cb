r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
N = 640
angle = torch.rand(N) * 6.283
radius = torch.where(torch.arange(N) % 2 == 0, 1.0, 2.0)
x = torch.stack([radius * angle.cos(), radius * angle.sin()], 1) + 0.15 * torch.randn(N, 2)
y = (radius > 1.5).long()

train_set = TensorDataset(x[:512], y[:512])
loader = DataLoader(train_set, batch_size=64, shuffle=True)
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
criterion = nn.CrossEntropyLoss()

for epoch in range(15):
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(xb)
    print(f"epoch {epoch} loss {running / 512:.4f}")

net.eval()
with torch.no_grad():
    acc = (net(x[512:]).argmax(1) == y[512:]).float().mean()
print(f"test accuracy {acc:.3f}")
