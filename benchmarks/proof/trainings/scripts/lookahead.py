"""Lookahead around Adam: slow weights pull the fast ones back every fifth step."""

import json
from collections import defaultdict

import torch
from torch import nn
from torch.optim import Optimizer


class Lookahead(Optimizer):
    def __init__(self, optimizer, k=5, alpha=0.5):
        self.optimizer, self.k, self.alpha = optimizer, k, alpha
        self.param_groups, self.defaults = optimizer.param_groups, optimizer.defaults
        self.state = defaultdict(dict)
        self.counter = 0

    @torch.no_grad()
    def update(self):
        for group in self.param_groups:
            for fast in group["params"]:
                slow = self.state[fast].setdefault("slow_param", fast.data.clone())
                slow += (fast.data - slow) * self.alpha
                fast.data.copy_(slow)

    def step(self, closure=None):
        loss = self.optimizer.step(closure)
        self.counter += 1
        if self.counter % self.k == 0:
            self.update()
        return loss

    def zero_grad(self):
        self.optimizer.zero_grad()


torch.manual_seed(50)
model = nn.Sequential(nn.Linear(8, 32), nn.Mish(), nn.Linear(32, 4))
optimizer = Lookahead(torch.optim.Adam(model.parameters(), lr=5e-3))
centers = 2 * torch.randn(4, 8)
losses = []
for step in range(100):
    y = torch.randint(4, (32,))
    loss = nn.functional.cross_entropy(model(centers[y] + torch.randn(32, 8)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0], losses[-1])
print("TRUTH", json.dumps({"model": [None, 100, losses[0], losses[-1]]}))
