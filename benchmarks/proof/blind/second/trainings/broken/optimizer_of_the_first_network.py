r"""Grows a network during the training: a wider one replaces the first when the loss is low.

Source: https://github.com/pytorch/pytorch/issues/54765
Fault: the optimiser is not created again after the network is replaced, so it steps the old
    parameters and the new network stays as it was initialised.
Cause: optimi[sz]er\b.*\b(old|new|stale|replaced|re-?created|first|not|never)|\b(old|new|replaced)
    (network|model|parameters)
Place: \boptimizer\b|\bnet\b
"""

import torch
from torch import nn

torch.manual_seed(16)
x = torch.rand(256, 2) * 6 - 3
y = torch.sin(x[:, :1]) * torch.cos(x[:, 1:])


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(2, hidden), nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


net = Net(4)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-2)
for epoch in range(100):
    if epoch == 30:
        net = Net(64)  # here
    for rows in torch.randperm(256).split(64):
        loss = nn.functional.mse_loss(net(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 10 == 0:
        print(f"epoch {epoch} hidden {net.fc1.out_features} loss {loss.item():.4f}")
