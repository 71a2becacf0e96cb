r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.mse_loss.html
Fault: Predictions of shape (B, 1) meet targets of shape (B,), so the loss broadcasts to a B x B
    matrix and the model learns the mean.
Cause: broadcast|shape|size.{0,30}(mismatch|differ)|squeeze|\(?B, ?1\)?|target size
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
n = 800
rooms = torch.randint(1, 7, (n,)).float()
area = 20 * rooms + 15 * torch.rand(n)
dist = 10 * torch.rand(n)
price = 2.0 * area + 8 * rooms - 6 * dist + 5 * torch.randn(n)
X = torch.stack([rooms, area, dist], 1)
X = (X - X[:640].mean(0)) / X[:640].std(0)
y = (price - price[:640].mean()) / price[:640].std()

train_loader = DataLoader(TensorDataset(X[:640], y[:640]), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(8):
    for xb, yb in train_loader:
        pred = model(xb)
        loss = F.mse_loss(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    err = model(X[640:]).squeeze(1) - y[640:]
    r2 = 1 - err.pow(2).mean() / y[640:].var()
print(f"test r2 {r2.item():.3f}")
