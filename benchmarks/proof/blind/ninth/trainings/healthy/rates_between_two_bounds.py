"""Patterns with a hand-written optimizer whose steps are held between two bounds.

Source: https://github.com/Luolc/AdaBound
Odd: The step of every weight is clamped between a lower and an upper bound that close in on the
    rate of plain gradient descent, and the beta values of a group are read from its dictionary.
"""

import math

import torch
from torch import nn
from torch.optim import Optimizer

torch.manual_seed(1025)
CLASSES, PIXELS = 7, 32
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 1.1 * torch.randn(count, PIXELS), label


class AdaBound(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), final_lr=0.1, gamma=1e-3, eps=1e-8):
        defaults = {"lr": lr, "betas": betas, "final_lr": final_lr, "gamma": gamma, "eps": eps}
        super().__init__(params, defaults)
        self.base_lrs = [group["lr"] for group in self.param_groups]

    @torch.no_grad()
    def step(self, closure=None):
        for group, base_lr in zip(self.param_groups, self.base_lrs, strict=True):
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(step=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                state["step"] += 1
                step = state["step"]
                state["m"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                state["v"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                denom = state["v"].sqrt().add_(group["eps"])
                step_size = group["lr"] * math.sqrt(1 - beta2**step) / (1 - beta1**step)
                final_lr = group["final_lr"] * group["lr"] / base_lr
                lower = final_lr * (1 - 1 / (group["gamma"] * step + 1))
                upper = final_lr * (1 + 1 / (group["gamma"] * step))
                rates = torch.full_like(denom, step_size).div_(denom).clamp_(lower, upper)
                p.sub_(rates.mul_(state["m"]))


net = nn.Sequential(nn.Linear(PIXELS, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
net.append(nn.Linear(64, CLASSES))
optimizer = AdaBound(net.parameters(), lr=1e-3, final_lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=8, gamma=0.1)
train_x, train_y = draw(900)
test_x, test_y = draw(500)
for epoch in range(12):
    running = 0.0
    for rows in torch.randperm(900).split(45):
        loss = nn.functional.cross_entropy(net(train_x[rows]), train_y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    scheduler.step()
    if epoch % 3 == 2:
        with torch.no_grad():
            accuracy = (net(test_x).argmax(1) == test_y).float().mean().item()
        print(f"epoch {epoch + 1} loss {running / 20:.4f} test {accuracy:.3f}")
