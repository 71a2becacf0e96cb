r"""A training of `Net`.

Source: https://docs.pytorch.org/docs/stable/optim.html#constructing-it
Healthy: the right twin of the broken case of this name.
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
net.head = nn.Linear(32, 7)
opt = torch.optim.SGD(net.parameters(), lr=0.02)
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
