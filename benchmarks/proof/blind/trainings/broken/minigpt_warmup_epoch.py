r"""Tunes a projection with a linear warm-up that spans several epochs, then a cosine.

Source: https://github.com/Vision-CAIR/MiniGPT-4/pull/263
Fault: The warm-up counts steps inside the epoch, so each epoch starts again at the lowest rate and
    the full learning rate is never reached.
Cause: warm.?up.*(reset|restart|epoch|inner|never)|(reset|restart).*(lr|rate|warm)|total.*step
"""

import math

import torch
import torch.nn.functional as F
from torch import nn


class LinearWarmupCosineLRScheduler:
    def __init__(self, optimizer, max_epoch, iters_per_epoch, min_lr, init_lr, warmup_steps):
        self.optimizer, self.max_epoch, self.iters_per_epoch = optimizer, max_epoch, iters_per_epoch
        self.min_lr, self.init_lr, self.warmup_steps = min_lr, init_lr, warmup_steps

    def step(self, cur_epoch, cur_step):
        total_cur_step = cur_epoch * self.iters_per_epoch + cur_step
        if total_cur_step < self.warmup_steps:
            lr = self.min_lr + (self.init_lr - self.min_lr) * cur_step / self.warmup_steps  # here
        else:
            ratio = total_cur_step / (self.max_epoch * self.iters_per_epoch)
            lr = self.min_lr + 0.5 * (self.init_lr - self.min_lr) * (1 + math.cos(math.pi * ratio))
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        return lr


torch.manual_seed(0)
proj = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 8))
optimizer = torch.optim.AdamW(proj.parameters(), lr=1e-6)
scheduler = LinearWarmupCosineLRScheduler(optimizer, 8, 20, 1e-6, 5e-3, warmup_steps=140)
mix = torch.randn(16, 8)
for epoch in range(8):
    for i in range(20):
        lr = scheduler.step(epoch, i)
        x = torch.randn(32, 16)
        loss = F.mse_loss(proj(x), torch.tanh(x @ mix))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i == 0:
            first = lr
    print(f"epoch {epoch} loss {loss.item():.4f} lr {first:.2e} .. {lr:.2e}")
