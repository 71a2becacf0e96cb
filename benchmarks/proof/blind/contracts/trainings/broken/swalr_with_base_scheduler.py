r"""A training.

Source: https://docs.pytorch.org/docs/stable/optim.html#putting-it-all-together
Fault: In the averaging phase the base scheduler is stepped as well as SWALR, so both write the
    learning rate and it decays to zero instead of staying at swa_lr.
Cause: (two|both|base|main|original|second|cosine) schedul\w*|SWALR
    |swa.{0,80}(schedul|learning rate|lr)|after SWALR has begun
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR
from torch.optim.swa_utils import AveragedModel, SWALR

torch.manual_seed(109)
x = torch.rand(800, 3) * 2 - 1
y = torch.sin(4 * x[:, 0]) * x[:, 1] + x[:, 2] ** 3 + 0.1 * torch.randn(800)
xt, yt = x[640:], y[640:]
model = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
scheduler = ExponentialLR(opt, gamma=0.7)
averaged = AveragedModel(model)
swa_start, epochs = 5, 16
swa_scheduler = SWALR(opt, swa_lr=0.1, anneal_epochs=3)
mse = nn.MSELoss()

for epoch in range(epochs):
    for idx in torch.randperm(640).split(64):
        opt.zero_grad()
        loss = mse(model(x[idx]).squeeze(1), y[idx])
        loss.backward()
        opt.step()
    scheduler.step()
    if epoch >= swa_start:
        averaged.update_parameters(model)
        swa_scheduler.step()
    print(f"epoch {epoch} lr {opt.param_groups[0]['lr']:.5f} loss {loss.item():.4f}")
with torch.no_grad():
    print("averaged mse", mse(averaged(xt).squeeze(1), yt).item())
