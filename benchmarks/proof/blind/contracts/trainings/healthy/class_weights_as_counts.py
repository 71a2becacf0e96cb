r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(130)
sizes = [800, 120, 60]
centers = torch.tensor([[0.0, 0.0, 0.0], [1.6, 0.0, 1.0], [0.0, 1.8, -1.0]])
y = torch.cat([torch.full((s,), k) for k, s in enumerate(sizes)])
x = centers[y] + torch.randn(len(y), 3)
perm = torch.randperm(len(y))
x, y = x[perm], y[perm]
xtr, ytr, xte, yte = x[:780], y[:780], x[780:], y[780:]

counts = torch.bincount(ytr, minlength=3).float()
weights = counts.sum() / (3 * counts)
model = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(weight=weights)

for epoch in range(10):
    model.train()
    for xb, yb in DataLoader(TensorDataset(xtr, ytr), batch_size=60, shuffle=True):
        opt.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    pred = model(xte).argmax(1)
recall = [(pred[yte == k] == k).float().mean().item() for k in range(3)]
print("recall", [round(r, 3) for r in recall])
