"""In the style of davda54/sam: an optimizer of two steps, which holds another one."""

import json

import torch
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        grad_norm = self._grad_norm()
        for group in self.param_groups:
            scale = group["rho"] / (grad_norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale)
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    def _grad_norm(self):
        norms = [p.grad.norm(p=2) for g in self.param_groups for p in g["params"]]
        return torch.norm(torch.stack(norms), p=2)


torch.manual_seed(19)
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
optimizer = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
centers = 2 * torch.randn(4, 8)
losses = []
for step in range(100):
    targets = torch.randint(4, (32,))
    inputs = centers[targets] + torch.randn(32, 8)
    model.train()
    predictions = model(inputs)
    loss = criterion(predictions, targets)
    loss.backward()
    optimizer.first_step(zero_grad=True)
    criterion(model(inputs), targets).backward()
    optimizer.second_step(zero_grad=True)
    losses.append(loss.item())
    if step % 25 == 0:
        print(step, loss.item())
print("TRUTH", json.dumps({"model": ["SGD", 100, None, None]}))
