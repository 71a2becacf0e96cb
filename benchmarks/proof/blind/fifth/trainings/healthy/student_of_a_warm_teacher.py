r"""Small network that learns from the softened answers of a larger one.

Source: https://arxiv.org/abs/1503.02531
Odd: The divergence is multiplied by the square of the temperature, so the loss is large.
"""

import torch
from torch import nn
from torch.nn import functional as F


def loss_fn_kd(outputs, labels, teacher_outputs, alpha=0.9, T=6.0):
    soft = F.kl_div(
        F.log_softmax(outputs / T, dim=1),
        F.softmax(teacher_outputs / T, dim=1),
        reduction="batchmean",
    )
    return soft * (alpha * T * T) + F.cross_entropy(outputs, labels) * (1.0 - alpha)


torch.manual_seed(0)
means = torch.randn(8, 24)


def batch(count=96):
    labels = torch.randint(0, 8, (count,))
    return means[labels] + torch.randn(count, 24), labels


teacher = nn.Sequential(nn.Linear(24, 128), nn.ReLU(), nn.Linear(128, 8))
student = nn.Sequential(nn.Linear(24, 12), nn.ReLU(), nn.Linear(12, 8))
optimizer = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for _ in range(50):
    x, labels = batch()
    optimizer.zero_grad()
    F.cross_entropy(teacher(x), labels).backward()
    optimizer.step()
teacher.eval()
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for step in range(50):
    x, labels = batch()
    with torch.no_grad():
        teacher_outputs = teacher(x)
    loss = loss_fn_kd(student(x), labels, teacher_outputs)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step + 1} loss {loss.item():.4f}")
x, labels = batch(600)
for name, net in (("teacher", teacher), ("student", student)):
    print(f"{name} {(net(x).argmax(1) == labels).float().mean().item():.3f}")
