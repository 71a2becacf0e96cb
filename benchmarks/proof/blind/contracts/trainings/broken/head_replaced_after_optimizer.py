r"""A training of `Net`.

Source: https://docs.pytorch.org/docs/stable/optim.html#constructing-it
Fault: The classification head is replaced after the optimizer was built, so the new head's
    parameters are never updated.
Cause: (replac|swap|new|reassign|created|added)\w*.{0,80}(after|optimi[sz]er|not)
    |not in (the |any )?(optimi[sz]er|param)
    |optimi[sz]er.{0,80}(old|stale|before|does ?n.t|not (contain|hold|include|know|updat))
"""

import torch
import torch.nn as nn

torch.manual_seed(19)


def blobs(k, n, gen):
    mu = 2 * torch.randn(k, 10, generator=gen)
    lab = torch.randint(k, (n,), generator=gen)
    return mu[lab] + torch.randn(n, 10, generator=gen), lab


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 32), nn.ReLU())
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        return self.head(self.trunk(x))


g = torch.Generator().manual_seed(1)
x, y = blobs(7, 600, g)
net = Net(classes=3)
opt = torch.optim.SGD(net.parameters(), lr=0.02)
net.head = nn.Linear(32, 7)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(8):
    for idx in torch.randperm(500).split(50):
        net.zero_grad()
        loss = loss_fn(net(x[idx]), y[idx])
        loss.backward()
        opt.step()
    print("epoch", epoch, "loss", round(loss.item(), 4))
with torch.no_grad():
    print("acc", (net(x[500:]).argmax(1) == y[500:]).float().mean().item())
