"""A penalty on the gradient of the input, before gradients are reset."""

import sys

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(
    [{"params": net[0].parameters(), "lr": 0.0}, {"params": net[2].parameters()}], lr=0.01
)
for _ in range(6):
    x = torch.randn(16, 4, requires_grad=True)
    out = net(x)
    (slope,) = torch.autograd.grad(out.sum(), x, create_graph=True)
    loss = out.square().mean() + (slope.norm(dim=1) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    # truth: before("net", optimizer, loss)
    optimizer.step()
    # truth: after("net")
torch.save(net.state_dict(), sys.argv[1])
# truth: write()
