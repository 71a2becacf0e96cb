r"""Optimizer that averages its weights in place of a schedule, with normalisation statistics.

Source: https://github.com/facebookresearch/schedule_free/issues/60
Odd: The weights are exchanged for their average before validation and back after it, and some
    batches go through in training mode to renew the statistics.
"""

import torch
from torch import nn


class ScheduleFreeSGD(torch.optim.Optimizer):
    def __init__(self, params, lr, beta=0.9):
        super().__init__(params, {"lr": lr, "beta": beta, "k": 0})

    @torch.no_grad()
    def exchange(self, weight):
        for group in self.param_groups:
            for p in group["params"]:
                if "z" in self.state[p]:
                    p.lerp_(self.state[p]["z"], weight(group["beta"]))

    def eval(self):
        self.exchange(lambda beta: 1 - 1 / beta)

    def train(self):
        self.exchange(lambda beta: 1 - beta)

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            group["k"] += 1
            beta, share = group["beta"], 1 / group["k"]
            for p in group["params"]:
                z = self.state[p].setdefault("z", p.clone())
                p.lerp_(z, share)
                p.add_(p.grad, alpha=group["lr"] * (beta * (1 - share) - 1))
                z.sub_(p.grad, alpha=group["lr"])


torch.manual_seed(0)
x = torch.randn(480, 12) * 2 + 1
y = (x[:, 0] * x[:, 1] > 1).long()
model = nn.Sequential(nn.Linear(12, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 2))
optimizer = ScheduleFreeSGD(model.parameters(), lr=0.5)
batches = torch.arange(400).split(40)
for epoch in range(6):
    model.train()
    optimizer.train()
    for index in torch.randperm(400).split(40):
        loss = nn.functional.cross_entropy(model(x[index]), y[index])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    optimizer.eval()
    with torch.no_grad():
        for index in batches:
            model(x[index])
        model.eval()
        accuracy = (model(x[400:]).argmax(1) == y[400:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.3f} accuracy {accuracy:.3f}")
