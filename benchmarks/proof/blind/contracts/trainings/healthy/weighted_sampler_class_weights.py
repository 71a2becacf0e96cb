r"""A training.

Source: https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.WeightedRandomSampler
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(134)
counts = [600, 150, 50]
mu = 1.5 * torch.randn(3, 6)
y = torch.cat([torch.full((c,), k) for k, c in enumerate(counts)])[torch.randperm(800)]
x = mu[y] + torch.randn(800, 6)
train = TensorDataset(x[:640], y[:640])

freq = torch.bincount(y[:640], minlength=3)
class_weight = 1.0 / freq.float()
sample_weight = class_weight[y[:640]]
sampler = WeightedRandomSampler(sample_weight, num_samples=640, replacement=True)
loader = DataLoader(train, batch_size=64, sampler=sampler)

model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(8):
    for xb, yb in loader:
        opt.zero_grad()
        loss = ce(model(xb), yb)
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    print("test acc", (model(x[640:]).argmax(1) == y[640:]).float().mean().item())
