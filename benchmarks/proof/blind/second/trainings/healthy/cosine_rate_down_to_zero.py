"""Trains with a cosine schedule that ends at zero.

Source: https://github.com/kuangliu/pytorch-cifar/blob/master/main.py
    https://pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.CosineAnnealingLR.html
Odd: in the last epochs the weights hardly change and the loss is flat; the rate has come to zero as
    planned, after the loss has fallen.
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR

torch.manual_seed(8)
x = torch.rand(400, 3) * 2 - 1
y = torch.stack([(3 * x[:, 0]).sin(), x[:, 1] * x[:, 2]], 1)
model = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-5)
scheduler = CosineAnnealingLR(optimizer, T_max=20)
for epoch in range(20):
    before = torch.cat([p.detach().flatten() for p in model.parameters()])
    total = 0.0
    for rows in torch.randperm(400).split(40):
        loss = nn.functional.mse_loss(model(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 10
    scheduler.step()
    after = torch.cat([p.detach().flatten() for p in model.parameters()])
    if epoch % 3 == 0 or epoch > 17:
        lr = scheduler.get_last_lr()[0]
        moved = (after - before).norm().item()
        print(f"epoch {epoch} loss {total:.5f} lr {lr:.5f} moved {moved:.4f}")
