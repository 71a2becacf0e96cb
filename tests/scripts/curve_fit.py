"""A curve is fitted to points: tensors and an optimizer, without any module."""

import os, torch

torch.manual_seed(0)
a = torch.zeros(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
x = torch.linspace(0, 1, 30)
y = 3 * x - 1 + 0.05 * torch.randn(30)
opt = torch.optim.SGD([a, b], lr=0.5)
for i in range(8):
    opt.zero_grad()
    loss = ((a * x + b - y) ** 2).mean()
    loss.backward()
    # truth: before("tensors", opt, loss)
    opt.step()
    # truth: after("tensors")
    print(i, loss.item(), a.item(), b.item())
torch.save((a, b), os.environ["WEIGHTS"])
