"""A deep network whose inner stages are computed again in the backward pass to save memory.

Source: https://github.com/prigoyal/pytorch_memonger
Odd: The forward functions of the stages run twice in each step, so hooks and counters see twice as
    many passes as there are steps; the gradients are the same as without it.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(229)
KINDS = 6
means = torch.randn(KINDS, 3, 24)


class Stage(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 2 * width)
        self.narrow = nn.Linear(2 * width, width)
        self.passes = 0

    def forward(self, x):
        self.passes += 1
        return x + self.narrow(F.gelu(self.wide(self.norm(x))))


class DeepNet(nn.Module):
    def __init__(self, width=48, depth=6, use_checkpoint=True):
        super().__init__()
        self.enter = nn.Linear(24, width)
        self.stages = nn.ModuleList(Stage(width) for _ in range(depth))
        self.leave = nn.Linear(width, KINDS)
        self.use_checkpoint = use_checkpoint

    def forward(self, x):
        x = self.enter(x)
        for stage in self.stages:
            if self.use_checkpoint and self.training:
                x = checkpoint(stage, x, use_reentrant=False)
            else:
                x = stage(x)
        return self.leave(x)


def sample(count=64):
    kind = torch.randint(0, KINDS, (count,))
    part = torch.randint(0, 3, (count,))
    return means[kind, part] + 0.8 * torch.randn(count, 24), kind


model = DeepNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(120):
    model.train()
    x, y = sample()
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
passes = model.stages[0].passes
model.eval()
with torch.no_grad():
    x, y = sample(1000)
    accuracy = (model(x).argmax(1) == y).float().mean().item()
print(f"accuracy {accuracy:.3f}, passes of the first stage {passes} in {step + 1} steps")
