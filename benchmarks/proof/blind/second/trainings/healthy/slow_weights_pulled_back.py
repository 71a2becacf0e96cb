"""Trains with the lookahead optimiser.

Source: https://github.com/michaelrzhang/lookahead/blob/master/lookahead_pytorch.py
Odd: every five steps the weights jump back half of the way and the loss may rise a little; the slow
    weights follow the fast ones.
"""

import torch
from torch import nn

torch.manual_seed(3)


class Lookahead:
    def __init__(self, optimizer, la_steps=5, la_alpha=0.5):
        self.optimizer, self.la_steps, self.la_alpha = optimizer, la_steps, la_alpha
        self.step_count = 0
        self.cached = [
            [p.detach().clone() for p in group["params"]] for group in optimizer.param_groups
        ]

    def zero_grad(self):
        self.optimizer.zero_grad()

    def step(self):
        self.optimizer.step()
        self.step_count += 1
        if self.step_count % self.la_steps:
            return
        for group, slow in zip(self.optimizer.param_groups, self.cached, strict=True):
            for p, q in zip(group["params"], slow, strict=True):
                q.add_(p.data - q, alpha=self.la_alpha)
                p.data.copy_(q)


x = torch.randn(500, 12)
y = (x[:, 0] * x[:, 1] + x[:, 2] > 0).long()
model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 2))
optimizer = Lookahead(torch.optim.Adam(model.parameters(), lr=1e-2))
for step in range(150):
    rows = torch.randint(0, 500, (50,))
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0 or step == 149:
        print(f"step {step} loss {loss.item():.4f}")
