r"""Fine-tunes a head on a new domain; the backbone is shared with an older task.

Source: https://github.com/lightly-ai/lightly/issues/1438
Fault: requires_grad_(False) does not stop the running statistics of the batch norm, so the frozen
    backbone drifts and the older task is lost.
Cause: (running|batch.?norm|bn).*(stat|mean|var|eval|train|drift|updat)|eval mode|\.eval\(\)
Place: backbone|bn|BatchNorm
"""

import torch
import torch.nn.functional as F
from torch import nn


def deactivate_requires_grad(model):
    for param in model.parameters():
        param.requires_grad = False


def domain(n, shift, scale):
    x = torch.randn(n, 12)
    return shift + scale * x, (x[:, 0] + x[:, 1] > 0).long()


def fit(model, shift, scale, steps):
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(params, lr=1e-2)
    model.train()  # here
    for step in range(steps):
        x, y = domain(64, shift, scale)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 39:
            print(f"  step {step} loss {loss.item():.4f}")


def accuracy(model, shift, scale):
    model.eval()
    x, y = domain(1000, shift, scale)
    return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU())
old_task = nn.Sequential(backbone, nn.Linear(32, 2))
fit(old_task, 0.0, 1.0, 80)
print(f"old task accuracy {accuracy(old_task, 0.0, 1.0):.3f}")
deactivate_requires_grad(backbone)
new_task = nn.Sequential(backbone, nn.Linear(32, 2))
fit(new_task, 3.0, 2.0, 120)
print(f"new task accuracy {accuracy(new_task, 3.0, 2.0):.3f}")
print(f"old task accuracy {accuracy(old_task, 0.0, 1.0):.3f} after the new task")
