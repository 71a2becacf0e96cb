r"""Keeps an exponential moving average of a classifier with batch norm and evaluates the average.

Source: https://github.com/FlyreelAI/sesemi/issues/36
    https://github.com/CuriousAI/mean-teacher/issues/9
Fault: Only parameters are averaged; the running mean and variance of the average model keep their
    initial values and its accuracy is far below that of the trained model.
Cause: buffer|running.?(mean|var|stat)|batch.?norm.*(stat|not)|statistic
Place: ema|teacher|running_mean|running_var
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class EMA:
    def __init__(self, model, decay):
        self.module = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for ema_p, p in zip(self.module.parameters(), model.parameters()):  # here
            ema_p.mul_(self.decay).add_(p, alpha=1 - self.decay)


def batch(n):
    y = torch.randint(0, 4, (n,))
    x = 20.0 + 3.0 * torch.randn(n, 1, 8)
    x[torch.arange(n), 0, 2 * y] += 9.0
    return x, y


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv1d(1, 8, 3, padding=1), nn.BatchNorm1d(8), nn.ReLU(), nn.Flatten(), nn.Linear(64, 4)
)
ema = EMA(model, 0.95)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
x_val, y_val = batch(500)
for step in range(200):
    x, y = batch(64)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(model)
    if step % 50 == 49:
        model.eval()
        acc = [(m(x_val).argmax(1) == y_val).float().mean().item() for m in (model, ema.module)]
        model.train()
        print(f"step {step} loss {loss.item():.3f} acc {acc[0]:.3f} acc_ema {acc[1]:.3f}")
