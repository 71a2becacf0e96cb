r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn

torch.manual_seed(94)
A = torch.randn(20, 20) / 4
x = torch.randn(960, 20)
y = torch.tanh(x @ A) @ torch.randn(20, 4)
y = y.argmax(1)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4))
model[0].requires_grad_(False)
ce = nn.CrossEntropyLoss()


def make(params, lr):
    opt = torch.optim.SGD(params, lr=lr, momentum=0.9)
    return opt, torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.8)


optimizer, scheduler = make(model[2].parameters(), 0.1)
for epoch in range(15):
    if epoch == 3:
        model.requires_grad_(True)
        optimizer, scheduler = make(model.parameters(), 0.2)
    for idx in torch.randperm(800).split(80):
        optimizer.zero_grad()
        loss = ce(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.4f}")
with torch.no_grad():
    print("acc", (model(x[800:]).argmax(1) == y[800:]).float().mean().item())
