"""Self-distillation: a student and a teacher that follows it, in one module.

Source: https://github.com/facebookresearch/dino/issues/179
    https://github.com/lhoyer/DAFormer/issues/59
Odd: the whole teacher has requires_grad=False and gets no gradient; it is updated as a moving
    average of the student, outside of autograd.
"""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class DINOHead(nn.Module):
    def __init__(self, in_dim, out_dim):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(in_dim, 64), nn.GELU(), nn.Linear(64, 32))
        self.last_layer = nn.Linear(32, out_dim, bias=False)

    def forward(self, x):
        return self.last_layer(F.normalize(self.mlp(x), dim=-1))


class SelfDistillation(nn.Module):
    def __init__(self, out_dim=48):
        super().__init__()
        backbone = nn.Sequential(nn.Conv2d(3, 32, 4, 4), nn.GELU(), nn.Flatten(), nn.LazyLinear(64))
        backbone(torch.zeros(1, 3, 16, 16))
        self.student = nn.Sequential(backbone, DINOHead(64, out_dim))
        self.teacher = copy.deepcopy(self.student)
        self.teacher.requires_grad_(False)
        self.register_buffer("center", torch.zeros(1, out_dim))

    @torch.no_grad()
    def update_teacher(self, momentum=0.996):
        for s, t in zip(self.student.parameters(), self.teacher.parameters(), strict=True):
            t.mul_(momentum).add_(s, alpha=1 - momentum)

    def forward(self, view1, view2):
        s1, s2 = self.student(view1) / 0.1, self.student(view2) / 0.1
        with torch.no_grad():
            t1 = F.softmax((self.teacher(view1) - self.center) / 0.04, -1)
            t2 = F.softmax((self.teacher(view2) - self.center) / 0.04, -1)
        loss = -(t1 * s2.log_softmax(-1)).sum(-1).mean() - (t2 * s1.log_softmax(-1)).sum(-1).mean()
        return {"loss": loss / 2, "student": s1}


def build():
    return SelfDistillation()


def example_inputs():
    image = torch.randn(8, 3, 16, 16)
    return image + 0.1 * torch.randn_like(image), image.flip(-1)
