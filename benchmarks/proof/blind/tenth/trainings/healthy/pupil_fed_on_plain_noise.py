"""Small net that takes over a large one's knowledge from plain noise as input.

Source: https://github.com/Piyush-555/GaussianDistillation/issues/1
Odd: The inputs are random numbers, there are no labels, and the loss is a product of the teacher's
    probabilities with logarithms and no divergence, so it stays far above zero at its best.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(44)
FEATURES, KINDS = 12, 5
planes = torch.randn(FEATURES, KINDS)


def samples(count):
    x = torch.randn(count, FEATURES)
    return x, (x @ planes + 0.3 * (x**2) @ planes.roll(1, 1)).argmax(1)


def net(width):
    return nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, KINDS))


class DistillationLoss(nn.Module):
    def __init__(self, T):
        super().__init__()
        self.T = T

    def forward(self, student, teacher):
        student = F.log_softmax(student / self.T, dim=-1)
        teacher = F.softmax(teacher / self.T, dim=-1)
        return -(teacher * student).sum(1).mean() * self.T**2


teacher, student = net(256), net(48)
optimizer = torch.optim.Adam(teacher.parameters(), lr=4e-3)
x, y = samples(4000)
for epoch in range(6):
    for rows in torch.randperm(len(x)).split(100):
        loss = F.cross_entropy(teacher(x[rows]), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
test_x, test_y = samples(1000)


@torch.no_grad()
def rightness(model):
    return (model(test_x).argmax(1) == test_y).float().mean().item()


teacher.eval()
print(f"teacher right {rightness(teacher):.3f} student before {rightness(student):.3f}")
criterion = DistillationLoss(T=4)
optimizer = torch.optim.Adam(student.parameters(), lr=4e-3)
for step in range(300):
    noise = 1.2 * torch.randn(128, FEATURES)
    with torch.no_grad():
        taught = teacher(noise)
    loss = criterion(student(noise), taught)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        least = criterion(taught, taught).item()
        print(
            f"step {step + 1} loss {loss.item():.3f} (least {least:.3f}) "
            f"student right {rightness(student):.3f}"
        )
