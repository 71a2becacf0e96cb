r"""Stochastic weight averaging with a constant learning rate at the end.

Source: https://pytorch.org/blog/pytorch-1.6-now-includes-stochastic-weight-averaging/
    https://github.com/timgaripov/swa
Odd: The averaged model gets no gradients and its batch norm is wrong until update_bn at the end;
    afterwards it is at least as good as the last iterate.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 3))
weights = torch.randn(12, 3)


def batch(n=32):
    x = 3 + 2 * torch.randn(n, 12)
    return x, ((x - 3) @ weights).argmax(1)


optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
swa_model, swa_scheduler = AveragedModel(model), SWALR(optimizer, swa_lr=0.05, anneal_epochs=5)
for step in range(240):
    x, y = batch()
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step >= 120 and step % 4 == 0:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    if step % 60 == 59:
        print(f"step {step} loss {loss.item():.4f}")
update_bn((batch()[0] for _ in range(40)), swa_model)
x, y = batch(2000)
model.eval()
swa_model.eval()
for name, net in (("last", model), ("average", swa_model)):
    print(f"{name} test loss {F.cross_entropy(net(x), y).item():.4f}")
