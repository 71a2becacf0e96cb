"""Trains on imbalanced data with a sampler that repeats the rare class.

Source: https://github.com/ufoym/imbalanced-dataset-sampler
Odd: some samples are seen many times in an epoch and others never, without shuffle; the sampler
    draws with replacement so that both classes are equally frequent.
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

torch.manual_seed(3)
labels = (torch.rand(800) < 0.05).long()
features = torch.randn(800, 6) + labels[:, None] * torch.tensor([1.5, -1.0, 0.5, 0.0, 0.0, 0.0])
weights = 1.0 / torch.bincount(labels).float()[labels]
sampler = WeightedRandomSampler(weights.tolist(), num_samples=800)
loader = DataLoader(TensorDataset(features, labels), batch_size=40, sampler=sampler)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    running = 0.0
    for inputs, targets in loader:
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() / len(loader)
    found = model(features).argmax(1)
    recall = (found[labels == 1] == 1).float().mean().item()
    print(f"epoch {epoch} loss {running:.4f} recall of the rare class {recall:.3f}")
