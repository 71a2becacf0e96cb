r"""Self-distillation between crops with a centre and a temperature.

Source: https://github.com/AICONSlab/3DINO/issues/6
Odd: The loss need not fall steadily, as the teacher is a moving target without gradients.
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
groups = torch.randn(8, 24) * 1.5
student = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 16))
teacher = copy.deepcopy(student).requires_grad_(False)
optimizer = torch.optim.AdamW(student.parameters(), lr=4e-3, weight_decay=0.04)
center = torch.zeros(16)
for step in range(60):
    x = groups[torch.randint(0, 8, (64,))]
    views = [x + 0.4 * torch.randn_like(x) for _ in range(2)]
    with torch.no_grad():
        outs = [teacher(v) for v in views]
    targets = [((o - center) / 0.1).softmax(1) for o in outs]
    loss = 0
    for i in range(2):
        loss = loss - (targets[1 - i] * (student(views[i]) / 0.2).log_softmax(1)).sum(1).mean() / 2
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        center = 0.9 * center + 0.1 * torch.cat(outs).mean(0)
        for s, t in zip(student.parameters(), teacher.parameters(), strict=True):
            t.mul_(0.95).add_(s, alpha=0.05)
used = teacher(groups).sub(center).argmax(1).unique().numel()
print(f"loss {loss.item():.3f}, {used} codes for 8 groups")
