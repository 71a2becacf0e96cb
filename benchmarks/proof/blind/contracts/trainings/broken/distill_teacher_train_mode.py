r"""A training.

Source: https://docs.pytorch.org/tutorials/beginner/knowledge_distillation_tutorial.html
Fault: The distillation teacher stays in training mode, so its dropout makes the soft targets
    noisy.
Cause: teacher.{0,120}(eval|train|dropout|mode|noisy|batch ?norm)|eval\(\)|dropout
"""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(260)
mu = 1.2 * torch.randn(6, 16)
lab = torch.randint(6, (900,))
x = mu[lab] + torch.randn(900, 16)
teacher = nn.Sequential(nn.Linear(16, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 6))
t_opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for epoch in range(5):
    for idx in torch.randperm(700).split(70):
        t_opt.zero_grad()
        F.cross_entropy(teacher(x[idx]), lab[idx]).backward()
        t_opt.step()

student = nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 6))
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
T, alpha = 3.0, 0.8
for epoch in range(8):
    student.train()
    for idx in torch.randperm(700).split(70):
        with torch.no_grad():
            soft = F.softmax(teacher(x[idx]) / T, dim=1)
        out = student(x[idx])
        kd = F.kl_div(F.log_softmax(out / T, dim=1), soft, reduction="batchmean") * T * T
        loss = alpha * kd + (1 - alpha) * F.cross_entropy(out, lab[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} kd {kd.item():.4f}")
student.eval()
with torch.no_grad():
    print("student acc", (student(x[700:]).argmax(1) == lab[700:]).float().mean().item())
