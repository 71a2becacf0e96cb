"""Trains with a schedule that is stepped after each batch, warm-up included.

Source: https://github.com/pytorch/vision/issues/1261
    https://github.com/Lightning-AI/pytorch-lightning/issues/5631
Odd: scheduler.step() is in the loop over batches and not over epochs; the lambda counts batches,
    and the rate falls to a tenth only at the end.
"""

import math

import torch
from torch import nn

torch.manual_seed(6)
x = torch.randn(512, 10)
y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].sin()], 1)
loader = list(zip(x.split(32), y.split(32), strict=True))
num_epochs = 12
total, warmup_iters = num_epochs * len(loader), 20


def lr_lambda(it):
    if it < warmup_iters:
        return (it + 1) / warmup_iters
    progress = (it - warmup_iters) / (total - warmup_iters)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * progress))


model = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda)
for epoch in range(num_epochs):
    epoch_loss = 0.0
    for inputs, targets in loader:
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lr_scheduler.step()
        epoch_loss += loss.item() / len(loader)
    print(f"epoch {epoch} lr {lr_scheduler.get_last_lr()[0]:.5f} loss {epoch_loss:.4f}")
