r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.KLDivLoss.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(128)
mu = 1.4 * torch.randn(5, 12)
lab = torch.randint(5, (900,))
x = mu[lab] + torch.randn(900, 12)
teacher = nn.Sequential(nn.Linear(12, 96), nn.ReLU(), nn.Linear(96, 5))
opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for idx in torch.randperm(700).repeat(3).split(50):
    opt.zero_grad()
    F.cross_entropy(teacher(x[idx]), lab[idx]).backward()
    opt.step()
teacher.eval().requires_grad_(False)

student = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 5))
opt = torch.optim.Adam(student.parameters(), lr=1e-2)
kl = nn.KLDivLoss(reduction="batchmean")
T = 2.0
for epoch in range(8):
    for idx in torch.randperm(700).split(70):
        soft = F.softmax(teacher(x[idx]) / T, dim=1)
        pred = F.log_softmax(student(x[idx]) / T, dim=1)
        loss = T * T * kl(pred, soft)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} distillation loss {loss.item():.4f}")
student.eval()
with torch.no_grad():
    print("student acc", (student(x[700:]).argmax(1) == lab[700:]).float().mean().item())
