"""Semi-supervised training with a mean teacher and a ramped consistency loss.

Source: https://github.com/CuriousAI/mean-teacher/issues/29
    https://github.com/Britefury/self-ensemble-visual-domain-adapt/issues/6
Odd: the teacher has gradients for none of its parameters and changes at each step; it is an average
    of the student, made between the steps.
"""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)
angle = torch.rand(400) * math.pi
moon = torch.arange(400) % 2
x = torch.stack([angle.cos() + moon, torch.where(moon == 0, angle.sin(), 0.4 - angle.sin())], 1)
x = x + 0.08 * torch.randn(400, 2)
labelled = torch.arange(16)

student = nn.Sequential(
    nn.Linear(2, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2)
)
teacher = copy.deepcopy(student)
for param in teacher.parameters():
    param.detach_()
optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)


def update_ema_variables(model, ema_model, alpha, global_step):
    alpha = min(1 - 1 / (global_step + 1), alpha)
    for ema_param, param in zip(ema_model.parameters(), model.parameters(), strict=True):
        ema_param.data.mul_(alpha).add_(param.data, alpha=1 - alpha)


for step in range(120):
    rows = torch.randint(0, 400, (64,))
    noisy = x[rows] + 0.05 * torch.randn(64, 2)
    target = F.softmax(teacher(x[rows]), 1)
    consistency = F.mse_loss(F.softmax(student(noisy), 1), target)
    class_loss = F.cross_entropy(student(x[labelled]), moon[labelled])
    loss = class_loss + 5 * math.exp(-5 * (1 - min(step / 80, 1)) ** 2) * consistency
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_ema_variables(student, teacher, 0.97, step)
    if step % 20 == 0 or step == 119:
        acc = (teacher(x).argmax(1) == moon).float().mean().item()
        print(f"step {step} class {class_loss.item():.4f} teacher accuracy {acc:.3f}")
