r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)
W = torch.randn(20, 5)
feats = torch.randn(1000, 20)
labels = (feats @ W + 0.5 * torch.randn(1000, 5)).argmax(1)
train = DataLoader(TensorDataset(feats[:800], labels[:800]), batch_size=40, shuffle=True)

EPOCHS = 8
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = OneCycleLR(optimizer, max_lr=0.3, epochs=EPOCHS, steps_per_epoch=len(train))
criterion = nn.CrossEntropyLoss()

for epoch in range(EPOCHS):
    model.train()
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
    model.eval()
    with torch.no_grad():
        acc = (model(feats[800:]).argmax(1) == labels[800:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")
