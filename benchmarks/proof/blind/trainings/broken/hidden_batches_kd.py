r"""Distils a segmentation teacher into a student with soft targets.

Source: https://github.com/microsoft/ProDA/issues/43
Fault: kl_div gets probabilities where it expects log-probabilities, so the term is negative and
    its gradient does not pull the student to the teacher.
Cause: log_softmax|log.?prob|kl_?div\w*.*(log|negative)|negative.*(kl|distill)
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)


def conv_net(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, 4, 3, padding=1)
    )


teacher, student = conv_net(32), conv_net(8)
for p in teacher.parameters():
    p.data.mul_(2.0).requires_grad_(False)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)

for it in range(150):
    images = torch.randn(16, 3, 8, 8)
    student_out = F.softmax(student(images), dim=1)  # here
    with torch.no_grad():
        teacher_out = F.softmax(teacher(images), dim=1)
    loss_kd = F.kl_div(student_out, teacher_out, reduction="none").sum(1).mean()
    optimizer.zero_grad()
    loss_kd.backward()
    optimizer.step()
    if it % 30 == 29:
        agree = (student_out.argmax(1) == teacher_out.argmax(1)).float().mean().item()
        print(f"iter {it} loss_kd {loss_kd.item():.4f} agreement {agree:.3f}")
