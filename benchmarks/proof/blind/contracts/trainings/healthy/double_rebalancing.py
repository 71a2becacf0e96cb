r"""A training.

Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.WeightedRandomSampler
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(136)
n = 1000
rare = torch.rand(n) < 0.08
x = torch.randn(n, 5) + rare[:, None] * torch.tensor([1.2, 0.8, 0.0, -0.6, 0.0])
y = rare.long()
xtr, ytr, xte, yte = x[:800], y[:800], x[800:], y[800:]

freq = torch.bincount(ytr).float()
inv = freq.sum() / (2 * freq)
sampler = WeightedRandomSampler(inv[ytr], num_samples=len(ytr))
loader = DataLoader(TensorDataset(xtr, ytr), batch_size=80, sampler=sampler)
criterion = nn.CrossEntropyLoss()

model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(8):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")

model.eval()
with torch.no_grad():
    pred = model(xte).argmax(1)
tp = ((pred == 1) & (yte == 1)).sum().item()
print("precision", tp / max(1, (pred == 1).sum().item()), "recall", tp / (yte == 1).sum().item())
