"""Distillation with attention maps: the student must look where the teacher looks.

Source: https://github.com/bboylyg/NAD/issues/8
Fault: the maps of the student are detached, so the distillation loss changes nothing in the
    student.
Cause: detach|no gradient.*(attention|at_loss|distill)|graph
Place: at_loss|attention|body
"""

import torch
import torch.nn.functional as F
from torch import nn


class AttentionTransfer(nn.Module):
    def __init__(self, n_classes=5, beta=500.0):
        super().__init__()
        self.beta = beta
        self.student = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.deep = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(8, n_classes)
        self.teacher = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU())
        self.teacher.requires_grad_(False)

    @staticmethod
    def attention_map(fm):
        return F.normalize(fm.pow(2).mean(1).flatten(1))

    def forward(self, images, labels):
        fm_s = self.student(images)
        fm_t = self.teacher(images)
        at_loss = F.mse_loss(self.attention_map(fm_s).detach(), self.attention_map(fm_t))  # here
        logits = self.fc(self.deep(fm_s).mean((2, 3)))
        loss = F.cross_entropy(logits, labels) + self.beta * at_loss
        return {"loss": loss, "at_loss": at_loss, "logits": logits}


def example_inputs():
    return (
        torch.randn(4, 3, 12, 12),
        torch.randint(0, 5, (4,)),
    )
