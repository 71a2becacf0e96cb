r"""Distillation with soft targets at a temperature, beside the labels.

Source: https://github.com/facebookresearch/deit/issues/116
Odd: The divergence is divided by the number of all entries, not by that of the samples, and
    multiplied by the square of the temperature.
"""

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
x = torch.randn(512, 20)
y = (x @ torch.randn(20, 6)).argmax(1)
teacher = nn.Sequential(nn.Linear(20, 96), nn.ReLU(), nn.Linear(96, 6))
first = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for _ in range(40):
    loss = F.cross_entropy(teacher(x), y)
    first.zero_grad()
    loss.backward()
    first.step()
teacher.eval().requires_grad_(False)
student = nn.Sequential(nn.Linear(20, 24), nn.ReLU(), nn.Linear(24, 6))
optimizer = torch.optim.AdamW(student.parameters(), lr=8e-3)
T, alpha = 3.0, 0.5
for step in range(60):
    index = torch.randint(0, 512, (64,))
    outputs, teacher_outputs = student(x[index]), teacher(x[index])
    distillation_loss = F.kl_div(
        F.log_softmax(outputs / T, dim=1),
        F.log_softmax(teacher_outputs / T, dim=1),
        reduction="sum",
        log_target=True,
    ) * (T * T / outputs.numel())
    loss = F.cross_entropy(outputs, y[index]) * (1 - alpha) + distillation_loss * alpha
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"accuracy {(student(x).argmax(1) == y).float().mean().item():.3f}")
