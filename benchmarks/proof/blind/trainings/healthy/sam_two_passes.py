r"""Sharpness-aware minimisation: two forward and backward passes per update.

Source: https://github.com/davda54/sam/blob/main/sam.py
    https://github.com/davda54/sam/blob/main/example/train.py
Odd: The weights are moved uphill in the middle of each step, and the first gradients are thrown
    away; the second pass restores the weights before the real update.
"""

import torch
import torch.nn.functional as F
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, {"rho": rho, **kwargs})
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)

    @torch.no_grad()
    def first_step(self):
        params = [p for group in self.param_groups for p in group["params"]]
        norm = torch.stack([p.grad.norm() for p in params]).norm()
        for p in params:
            self.state[p]["old_p"] = p.clone()
            p.add_(p.grad, alpha=self.param_groups[0]["rho"] / (norm.item() + 1e-12))
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.copy_(self.state[p].pop("old_p"))
        self.base_optimizer.step()
        self.zero_grad()


torch.manual_seed(42)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 3))
optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.1, lr=0.1, momentum=0.9)
w = torch.randn(10, 3)
for step in range(150):
    inputs = torch.randn(64, 10)
    targets = (inputs @ w).argmax(1)
    loss = F.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.first_step()
    F.cross_entropy(model(inputs), targets).backward()
    optimizer.second_step()
    if step % 30 == 29:
        print(f"step {step} loss {loss.item():.4f}")
