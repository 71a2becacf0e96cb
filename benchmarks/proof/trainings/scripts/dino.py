"""DINO: student and teacher with a weight-normed last layer, frozen for the first steps."""

import copy
import json
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class DINOHead(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(in_dim, 32), nn.GELU(), nn.Linear(32, 16))
        self.last_layer = weight_norm(nn.Linear(16, out_dim, bias=False))
        self.last_layer.parametrizations.weight.original0.data.fill_(1)
        self.last_layer.parametrizations.weight.original0.requires_grad = False

    def forward(self, x):
        return self.last_layer(F.normalize(self.mlp(x), dim=-1, p=2))


class MultiCropWrapper(nn.Module):
    def __init__(self, backbone, head):
        super().__init__()
        self.backbone, self.head = backbone, head

    def forward(self, x):
        return self.head(torch.cat([self.backbone(crop) for crop in x]))


def cancel_gradients_last_layer(step, model, freeze_last_layer):
    if step >= freeze_last_layer:
        return
    for n, p in model.named_parameters():
        if "last_layer" in n:
            p.grad = None


torch.manual_seed(12)
student = MultiCropWrapper(nn.Sequential(nn.Linear(16, 32), nn.ReLU()), DINOHead(32, 24))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
params = [p for p in student.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(params, lr=1e-3, weight_decay=0.04)
center = torch.zeros(1, 24)
losses, steps = [], 150
for it in range(steps):
    for group in optimizer.param_groups:
        warm = min(1, (it + 1) / 15)
        group["lr"] = 2e-3 * warm * 0.5 * (1 + math.cos(math.pi * it / steps))
    base = torch.randn(32, 16)
    crops = [base + 0.2 * torch.randn(32, 16) for _ in range(4)]
    teacher_out = F.softmax((teacher(crops[:2]) - center) / 0.1, dim=-1).detach().chunk(2)
    student_out = (student(crops) / 0.2).chunk(4)
    terms = [
        torch.sum(-q * F.log_softmax(s, dim=-1), dim=-1).mean()
        for i, q in enumerate(teacher_out)
        for j, s in enumerate(student_out)
        if i != j
    ]
    loss = sum(terms) / len(terms)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(student.parameters(), 3.0)
    cancel_gradients_last_layer(it, student, 20)
    optimizer.step()
    losses.append(loss.item())
    with torch.no_grad():
        center = center * 0.9 + torch.cat(teacher_out).mean(0, keepdim=True) * 0.1
        for q, k in zip(student.parameters(), teacher.parameters(), strict=True):
            k.data.mul_(0.99).add_(q.detach().data, alpha=0.01)
    if it % 30 == 0:
        print(it, loss.item())
print("TRUTH", json.dumps({"student": ["AdamW", steps, losses[0], losses[-1]]}))
