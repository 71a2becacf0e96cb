r"""Classifier trained with an optimizer whose steps have the same size for each weight.

Source: https://github.com/lucidrains/lion-pytorch/blob/main/lion_pytorch/lion_pytorch.py
Odd: The update is a sign, whatever the gradient; the rate is small and the decay large.
"""

import torch
from torch import nn


class Lion(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                exp_avg = state["exp_avg"]
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_((exp_avg * beta1 + p.grad * (1 - beta1)).sign_(), alpha=-group["lr"])
                exp_avg.mul_(beta2).add_(p.grad, alpha=1 - beta2)


torch.manual_seed(0)
x = torch.randn(512, 24)
y = (x @ torch.randn(24, 6)).argmax(1)
model = nn.Sequential(nn.Linear(24, 64), nn.GELU(), nn.Linear(64, 6))
opt = Lion(model.parameters(), lr=4e-3, weight_decay=0.3)
for step in range(60):
    index = torch.randint(0, 512, (64,))
    loss = nn.functional.cross_entropy(model(x[index]), y[index])
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"accuracy {(model(x).argmax(1) == y).float().mean().item():.3f}")
