r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
Fault: After the unfreezing a new optimizer is built, but the scheduler still drives the old one,
    so the new optimizer's learning rate stays constant.
Cause: schedul\w*.{0,120}(old|previous|first|other|different|stale|discard|former|another|wrong|replaced) ?(optimi[sz]er|one)?
    |optimi[sz]er.{0,80}(without|no|not).{0,20}schedul
    |learning rate.{0,40}(constant|never chang|stays)
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
        optimizer, _ = make(model.parameters(), 0.2)
    for idx in torch.randperm(800).split(80):
        optimizer.zero_grad()
        loss = ce(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(f"epoch {epoch} loss {loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.4f}")
with torch.no_grad():
    print("acc", (model(x[800:]).argmax(1) == y[800:]).float().mean().item())
