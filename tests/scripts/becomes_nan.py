"""A loss that becomes NaN at step 7, and training goes on."""

import os
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.gate = nn.Linear(4, 4)

    def forward(self, x):
        return torch.log(self.gate(x).relu() + self.fc(x).square()).mean(1)


torch.manual_seed(0)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(10):
    x = torch.randn(8, 4)
    if step == 7:
        x[3] = float("inf")
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    # truth: before("net", optimizer, loss)
    optimizer.step()
    # truth: after("net")
    print(step, loss.item())
torch.save(net.state_dict(), os.environ["WEIGHTS"])
