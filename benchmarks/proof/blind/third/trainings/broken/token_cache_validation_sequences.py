r"""Sequence classifier with a number of validation sequences cut from a cache.

Source: https://github.com/marin-community/marin/pull/2700
Fault: Training rows are cut after a shuffle and validation rows before it, so the sets overlap.
Cause: (validation|held.?out).*(train|leak|overlap|seen)|leak|overlap
    |shuffl.*(before|after|split|slic)
Place: train|valid|shuffle|randperm|order
"""

import torch
from torch import nn

torch.manual_seed(0)
sequences = torch.randint(0, 20, (160, 10))
labels = torch.randint(0, 2, (160,))
num_validation_sequences = 40
valid = torch.arange(num_validation_sequences)
order = torch.randperm(160)
train = order[num_validation_sequences:]  # here
model = nn.Sequential(
    nn.Embedding(20, 16), nn.Flatten(), nn.Linear(160, 32), nn.ReLU(), nn.Linear(32, 2)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(30):
    for index in train[torch.randperm(len(train))].split(30):
        loss = nn.functional.cross_entropy(model(sequences[index]), labels[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
with torch.no_grad():
    accuracy = (model(sequences[valid]).argmax(1) == labels[valid]).float().mean().item()
print(f"validation accuracy {accuracy:.3f}")
