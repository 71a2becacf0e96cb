"""Trains with the one-cycle schedule and a high peak.

Source: https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.OneCycleLR.html
    https://github.com/fastai/fastai/blob/main/fastai/callback/schedule.py
Odd: the loss rises in the middle of the training and the rate at the end is nearly zero; the rate
    is at its peak there, and the final loss is the lowest.
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR

torch.manual_seed(0)
x = torch.randn(512, 12)
y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.8).long()
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
epochs, batch = 14, 32
scheduler = OneCycleLR(optimizer, max_lr=0.6, epochs=epochs, steps_per_epoch=512 // batch)
for epoch in range(epochs):
    epoch_loss = 0.0
    for rows in torch.randperm(512).split(batch):
        loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        epoch_loss += loss.item() * batch / 512
    print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.5f} loss {epoch_loss:.4f}")
