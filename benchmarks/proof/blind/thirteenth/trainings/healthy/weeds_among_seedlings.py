r"""Finds the few weeds among seedlings with batches in which both kinds are equally frequent.

Source: https://docs.pytorch.org/docs/stable/data.html
Healthy: The sampler draws with replacement and gives fewer rows than the table has, so an epoch
    leaves many rows out and repeats others; this is intended for the rare kind, the weights
    are one for each row, and the test keeps the natural shares.
"""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(139)


def plants(n):
    weed = (torch.rand(n) < 0.05).long()
    leaf = torch.randn(n, 8)
    leaf[:, 0] += 1.8 * weed
    leaf[:, 1] -= 1.2 * weed
    leaf[:, 2] = leaf[:, 2] * (1 + weed)
    return leaf, weed


def recalls(model, leaf, weed):
    model.eval()
    with torch.no_grad():
        guess = model(leaf).argmax(1)
    return [(guess[weed == c] == c).float().mean().item() for c in (0, 1)]


leaf, weed = plants(4000)
test = plants(2000)
per_kind = 1.0 / torch.bincount(weed).float()
sampler = WeightedRandomSampler(per_kind[weed], num_samples=1500, replacement=True)
loader = DataLoader(TensorDataset(leaf, weed), batch_size=50, sampler=sampler)

model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
criterion = nn.CrossEntropyLoss()
print("before: seedlings {:.3f}, weeds {:.3f}".format(*recalls(model, *test)))
for epoch in range(12):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        seedlings, weeds = recalls(model, *test)
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}, "
              f"seedlings {seedlings:.3f}, weeds {weeds:.3f}")
