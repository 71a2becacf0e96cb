r"""A training of `FlowerNet`.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader

torch.manual_seed(21)
K = 6
means = 1.5 * torch.randn(K, 12)
target = torch.arange(1200) % K
data = means[target] + torch.randn(1200, 12)
perm = torch.randperm(1200)
data, target = data[perm], target[perm]
loader = DataLoader(TensorDataset(data[:900], target[:900]), batch_size=60, shuffle=True)


class FlowerNet(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 40), nn.ReLU(), nn.Linear(40, n_out))
        self.act = nn.Identity()

    def forward(self, x):
        return self.act(self.body(x))


model = FlowerNet(12, K)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    tot = 0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        tot += loss.item()
    print(f"{epoch}: {tot / len(loader):.4f}")
model.eval()
with torch.no_grad():
    print("acc", (model(data[900:]).argmax(1) == target[900:]).float().mean().item())
