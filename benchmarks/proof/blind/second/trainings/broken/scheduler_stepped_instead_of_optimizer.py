r"""Trains a regressor with a scheduler that wraps the optimiser.

Source: https://github.com/pytorch/pytorch/issues/3814
    https://github.com/dotnet/TorchSharp/issues/414
Fault: the loop calls scheduler.step() only, in the belief that it steps the optimiser too; the
    weights never change.
Cause: optimi[sz]er.step|step\w*\b.*\boptimi[sz]er|never
    (stepped|updated|change)|(weights|parameters)\b.*\b(not|never)\b.*(chang|updat)
Place: scheduler\.step|optimizer\.step
"""

import torch
from torch import nn
from torch.optim.lr_scheduler import ExponentialLR

torch.manual_seed(21)
x = torch.rand(300, 5) * 4 - 2
y = (x[:, :1] * x[:, 1:2]).tanh() + 0.1 * x[:, 2:3]
net = nn.Sequential(nn.Linear(5, 40), nn.Tanh(), nn.Linear(40, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
scheduler = ExponentialLR(optimizer, gamma=0.98)
loss_fn = nn.MSELoss()


def train(epochs=8, batch=30):
    for epoch in range(epochs):
        epoch_loss = 0.0
        for rows in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            loss = loss_fn(net(x[rows]), y[rows])
            loss.backward()
            epoch_loss += loss.item() * len(rows) / len(x)
        scheduler.step()  # here
        print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.5f} loss {epoch_loss:.5f}")


train()
