r"""Mean teacher adaptation whose teacher follows the student by momentum.

Source: https://github.com/saltoricristiano/cosmix-uda/issues/21
Fault: Only parameters are averaged; the teacher in eval mode keeps its first norm statistics.
Cause: (buffer|running|batch ?norm|statistic)|teacher.*(stale|initial|never updat)
Place: update|buffers|teacher|ema|running
"""

import copy

import torch
from torch import nn

torch.manual_seed(0)
points = torch.randn(256, 12) * 4 + 5
labels = (points[:, :4].mean(1) > 5).long()
student = nn.Sequential(nn.BatchNorm1d(12), nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
teacher = copy.deepcopy(student).eval().requires_grad_(False)
optimizer = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)


@torch.no_grad()
def update_teacher(tau=0.95):
    for op, mp in zip(student.parameters(), teacher.parameters(), strict=True):  # here
        mp.mul_(tau).add_(op, alpha=1 - tau)


for epoch in range(12):
    for index in torch.randperm(256).split(32):
        pseudo = teacher(points[index]).softmax(1)
        out = student(points[index])
        loss = nn.functional.cross_entropy(out, labels[index])
        loss = loss + 0.1 * (out.softmax(1) - pseudo).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_teacher()
accuracy = (teacher(points).argmax(1) == labels).float().mean().item()
print(f"teacher accuracy {accuracy:.3f}")
