r"""Distils a frozen teacher into a student with a KL divergence.

Source: https://github.com/microsoft/ProDA/issues/20
    https://github.com/microsoft/ProDA/issues/43
Fault: F.kl_div wants log-probabilities of the student but gets probabilities, so the loss is
    negative and its gradient pushes towards one class instead of the teacher's distribution.
Cause: kl_div|log.?softmax|log.?prob|\bKL\b|negative loss|loss\b.*\bnegative
Place: student_prob|loss_kd|kl_div
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(33)
x = torch.randn(400, 12)
teacher = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 5))
with torch.no_grad():
    for param in teacher.parameters():
        param.mul_(2.0)
teacher.requires_grad_(False)
student = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 5))
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)


def distill_step(batch):
    student_prob = F.softmax(student(batch), dim=1)
    with torch.no_grad():
        teacher_prob = F.softmax(teacher(batch), dim=1)
    loss_kd = F.kl_div(student_prob, teacher_prob, reduction="batchmean")  # here
    optimizer.zero_grad()
    loss_kd.backward()
    optimizer.step()
    return loss_kd.item()


for epoch in range(10):
    losses = [distill_step(x[rows]) for rows in torch.randperm(400).split(50)]
    with torch.no_grad():
        true_kl = F.kl_div(
            F.log_softmax(student(x), 1), F.softmax(teacher(x), 1), reduction="batchmean"
        )
    print(f"epoch {epoch} loss {sum(losses) / 8:.4f} divergence {true_kl.item():.4f}")
