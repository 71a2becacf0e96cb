r"""Student and teacher pair for soft distillation with a temperature.

Source: https://github.com/lucidrains/vit-pytorch/issues/289
Odd: kl_div gets log-probabilities of the student and probabilities of the teacher, as torch wants;
    the teacher is detached and frozen on purpose.
"""

import torch
import torch.nn.functional as F
from torch import nn


class Distiller(nn.Module):
    def __init__(self, size=30, classes=8, temperature=3.0, alpha=0.5):
        super().__init__()
        self.student = nn.Sequential(nn.Linear(size, 16), nn.GELU(), nn.Linear(16, classes))
        self.teacher = nn.Sequential(nn.Linear(size, 64), nn.GELU(), nn.Linear(64, classes))
        self.teacher.requires_grad_(False)
        self.temperature, self.alpha = temperature, alpha

    def forward(self, x, labels):
        T = self.temperature
        student_logits = self.student(x)
        distill_loss = F.kl_div(
            F.log_softmax(student_logits / T, dim=-1),
            F.softmax(self.teacher(x) / T, dim=-1).detach(),
            reduction="batchmean",
        )
        loss = F.cross_entropy(student_logits, labels)
        return loss * (1 - self.alpha) + distill_loss * self.alpha * T**2


def build():
    return Distiller()


def example_inputs():
    return torch.randn(6, 30), torch.randint(0, 8, (6,))
