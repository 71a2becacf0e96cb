"""Multi-task learning: two heads over a shared trunk, trained in alternation."""

import json

import torch
from torch import nn

torch.manual_seed(31)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.heads = nn.ModuleDict({"classes": nn.Linear(32, 4), "value": nn.Linear(32, 1)})

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


model = MultiTask()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
centers = 2 * torch.randn(4, 8)
losses = []
for step in range(200):
    y = torch.randint(4, (32,))
    x = centers[y] + 0.5 * torch.randn(32, 8)
    if step % 2 == 0:
        loss = nn.functional.cross_entropy(model(x, "classes"), y)
    else:
        loss = nn.functional.mse_loss(model(x, "value"), x.mean(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 50 < 2:
        print(step, loss.item())
print("TRUTH", json.dumps({"model": ["Adam", 200, losses[0], losses[-1]]}))
