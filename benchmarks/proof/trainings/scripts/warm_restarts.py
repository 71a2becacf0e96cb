"""CosineAnnealingWarmRestarts by the fraction of the epoch."""

import json

import torch
from torch import nn, optim
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts

torch.manual_seed(18)
model = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
iters, losses = 20, []
for epoch in range(8):
    for i in range(iters):
        inputs = torch.rand(32, 4) * 2 - 1
        targets = torch.sin(inputs.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        scheduler.step(epoch + i / iters)
        losses.append(loss.item())
    print(epoch, losses[-1], scheduler.get_last_lr())
print("TRUTH", json.dumps({"model": ["SGD", 160, losses[0], losses[-1]]}))
