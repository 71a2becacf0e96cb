r"""Two tasks in sequence with elastic weight consolidation.

Source: https://github.com/moskomule/ewc.pytorch/blob/master/utils.py
Odd: The loss jumps in the middle of the run, where the second task starts, and a penalty holds the
    weights back; both tasks are solved at the end.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))


def task(index, n=64):
    x = torch.randn(n, 20)
    part = x[:, :10] if index == 0 else x[:, 10:]
    keep = torch.zeros_like(x)
    keep[:, 10 * index : 10 * index + 10] = 1.0
    return x * keep, (part[:, 0] + part[:, 1] > 0).long()


fisher, means = {}, {}
for index in range(2):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(120):
        x, y = task(index)
        loss = F.cross_entropy(model(x), y)
        penalty = sum(
            (fisher[n] * (p - means[n]) ** 2).sum() for n, p in model.named_parameters() if fisher
        )
        optimizer.zero_grad()
        (loss + 50 * penalty).backward()
        optimizer.step()
        if step % 40 == 0 or step == 119:
            print(f"task {index} step {step} loss {loss.item():.4f}")
    x, y = task(index, 512)
    model.zero_grad()
    F.cross_entropy(model(x), y).backward()
    fisher = {n: p.grad.detach() ** 2 for n, p in model.named_parameters()}
    means = {n: p.detach().clone() for n, p in model.named_parameters()}
for index in range(2):
    x, y = task(index, 1000)
    print(f"accuracy of task {index}: {(model(x).argmax(1) == y).float().mean().item():.3f}")
