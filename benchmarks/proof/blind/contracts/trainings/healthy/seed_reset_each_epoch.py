r"""A training.

Source: https://docs.pytorch.org/docs/stable/notes/randomness.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

mu_gen = torch.Generator().manual_seed(3)
mu = 1.2 * torch.randn(4, 16, generator=mu_gen)
lab = torch.randint(4, (700,), generator=mu_gen)
x = mu[lab] + 1.3 * torch.randn(700, 16, generator=mu_gen)

SEED = 1234
torch.manual_seed(SEED)
model = nn.Sequential(nn.Linear(16, 96), nn.ReLU(), nn.Dropout(0.5), nn.Linear(96, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss()


def train_epoch(epoch):
    model.train()
    loader = DataLoader(TensorDataset(x[:500], lab[:500]), batch_size=50, shuffle=True)
    total = 0.0
    for xb, yb in loader:
        noisy = xb + 0.5 * torch.randn_like(xb)
        loss = ce(model(noisy), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(loader):.4f}")


for epoch in range(10):
    train_epoch(epoch)
model.eval()
with torch.no_grad():
    print("test loss", ce(model(x[500:]), lab[500:]).item())
