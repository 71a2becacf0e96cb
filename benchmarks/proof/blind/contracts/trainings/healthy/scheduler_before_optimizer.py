r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import MultiStepLR

torch.manual_seed(62)
D = 14
teacher = nn.Sequential(nn.Linear(D, 10), nn.Tanh(), nn.Linear(10, 1))
x = torch.randn(640, D)
with torch.no_grad():
    y = 4 * teacher(x) + 0.05 * torch.randn(640, 1)
xt, yt = x[512:], y[512:]

model = nn.Sequential(nn.Linear(D, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.8)
scheduler = MultiStepLR(optimizer, milestones=[1, 5], gamma=0.1)
criterion = nn.MSELoss()

for epoch in range(8):
    lr = optimizer.param_groups[0]["lr"]
    model.train()
    total = 0.0
    for idx in torch.randperm(512).split(32):
        optimizer.zero_grad()
        loss = criterion(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    print(f"epoch {epoch} lr {lr:.4f} loss {total / 16:.4f}")

with torch.no_grad():
    print("test", criterion(model(xt), yt).item())
