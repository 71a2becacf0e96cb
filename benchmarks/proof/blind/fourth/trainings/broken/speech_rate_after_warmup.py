r"""Speech recogniser's frame classifier with a rate that is to rise and then fall.

Source: https://github.com/sooftware/kospeech/issues/129
Fault: The wrapper drops its scheduler after the warm-up, whose length it was given as the period of
    the schedule, so the rate never falls.
Cause: (rate|\blr\b).*(constant|stays?|stops?|not|never|after|fixed|no longer|unchanged)
    |schedul\w*.*(stop|never|no longer|not|after|only|\d+ of|too short|unfinished|end)\w*
Place: scheduler\w*|warmup_steps|set_lr
"""

import torch
from torch import nn


class TriStageScheduler:
    def __init__(self, optimizer, peak, warmup_steps, total_steps):
        self.optimizer, self.peak, self.at = optimizer, peak, 0
        self.warmup_steps, self.total_steps = warmup_steps, total_steps

    def step(self):
        self.at += 1
        up = min(1.0, self.at / self.warmup_steps)
        down = (self.total_steps - self.at) / (self.total_steps - self.warmup_steps)
        for group in self.optimizer.param_groups:
            group["lr"] = self.peak * max(0.01, min(up, down))


class Optimizer:
    def __init__(self, optim, scheduler=None, scheduler_period=None, max_grad_norm=0):
        self.optimizer, self.scheduler, self.count = optim, scheduler, 0
        self.scheduler_period, self.max_grad_norm = scheduler_period, max_grad_norm

    def step(self, model):
        nn.utils.clip_grad_norm_(model.parameters(), self.max_grad_norm)
        self.optimizer.step()
        if self.scheduler is not None:
            self.scheduler.step()
            self.count += 1
            if self.scheduler_period == self.count:
                self.scheduler = None


torch.manual_seed(0)
frames = torch.randn(400, 20)
phones = (frames @ torch.randn(20, 8)).argmax(1)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 8))
adam = torch.optim.Adam(model.parameters(), lr=1e-6)
scheduler = TriStageScheduler(adam, 0.02, 15, 80)
optimizer = Optimizer(adam, scheduler, 15, 5.0)  # here
for step in range(80):
    index = torch.randint(0, 400, (32,))
    loss = nn.functional.cross_entropy(model(frames[index]), phones[index])
    adam.zero_grad()
    loss.backward()
    optimizer.step(model)
print(f"loss {loss.item():.3f}, rate {adam.param_groups[0]['lr']:.4f}")
