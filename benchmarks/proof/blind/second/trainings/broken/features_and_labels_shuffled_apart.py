r"""Trains an intent classifier on sentence vectors that are shuffled at each epoch.

Source: https://github.com/DrexelChatbotGroup/DrexelChatbot/issues/15
    https://github.com/mlcommons/GaNDLF/pull/870
Fault: the vectors are shuffled and the labels are not (not by the same order), so the pairs are
    random and the loss stays at the entropy of the labels.
Cause: permut|shuffl|mismatch|same order|misalign|\b(labels|targets)\b.*\b(match|belong|correspond)
Place: randperm|epoch_batches
"""

import torch
from torch import nn

torch.manual_seed(0)
centres = torch.randn(6, 24)
train_y = torch.randint(0, 6, (600,))
train_x = centres[train_y] + 0.5 * torch.randn(600, 24)


def epoch_batches(x, y, batch_size):
    x = x[torch.randperm(len(x))]  # here
    yield from zip(x.split(batch_size), y.split(batch_size), strict=True)


model = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 6))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(12):
    total, hits = 0.0, 0
    for x, y in epoch_batches(train_x, train_y, 60):
        outputs = model(x)
        loss = criterion(outputs, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 10
        hits += (outputs.argmax(1) == y).sum().item()
    print(f"epoch {epoch} loss {total:.4f} accuracy {hits / 600:.3f}")
