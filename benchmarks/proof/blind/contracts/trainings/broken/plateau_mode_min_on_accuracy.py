r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html
Fault: ReduceLROnPlateau watches an accuracy with mode='min', so every improvement counts as a bad
    epoch and the learning rate is cut.
Cause: mode ?= ?.?(min|max)|plateau.{0,100}(accuracy|max|min)
    |accuracy.{0,80}(max|\bmin|plateau|schedul)|(min|max) mode
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(67)
K, D = 8, 20
mu = torch.randn(K, D)
lab = torch.randint(K, (1200,))
x = mu[lab] + 1.1 * torch.randn(1200, D)
train_dl = DataLoader(TensorDataset(x[:1000], lab[:1000]), batch_size=100, shuffle=True)

model = nn.Sequential(nn.Linear(D, 64), nn.ReLU(), nn.Linear(64, K))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
scheduler = ReduceLROnPlateau(optimizer, factor=0.3, patience=1)
ce = nn.CrossEntropyLoss()

for epoch in range(16):
    model.train()
    for xb, yb in train_dl:
        optimizer.zero_grad()
        loss = ce(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val_acc = (model(x[1000:]).argmax(1) == lab[1000:]).float().mean().item()
    scheduler.step(val_acc)
    print(f"epoch {epoch} lr {optimizer.param_groups[0]['lr']:.2e} val acc {val_acc:.3f}")
