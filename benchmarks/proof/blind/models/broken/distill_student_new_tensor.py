"""Knowledge distillation with a policy that keeps the last logits of the student.

Source: https://github.com/IntelLabs/distiller/issues/234
Fault: new_tensor copies the logits out of the graph, so the student gets no gradient at all.
Cause: new_tensor|cop(y|ied|ies)|detach|graph|leaf
Place: student|logits
"""

import torch
import torch.nn.functional as F
from torch import nn


class KnowledgeDistillation(nn.Module):
    def __init__(self, in_dim=12, n_classes=4, temp=4.0):
        super().__init__()
        self.temp = temp
        self.student = nn.Sequential(nn.Linear(in_dim, 8), nn.ReLU(), nn.Linear(8, n_classes))
        self.teacher = nn.Sequential(nn.Linear(in_dim, 64), nn.ReLU(), nn.Linear(64, n_classes))
        self.teacher.requires_grad_(False)
        self.last_students_logits = None

    def forward(self, x):
        with torch.no_grad():
            teacher_logits = self.teacher(x)
        out = self.student(x)
        self.last_students_logits = out.new_tensor(out, requires_grad=True)  # here
        soft_log_probs = F.log_softmax(self.last_students_logits / self.temp, dim=1)
        soft_targets = F.softmax(teacher_logits / self.temp, dim=1)
        distill = F.kl_div(soft_log_probs, soft_targets, reduction="batchmean")
        return {"loss": distill * self.temp**2, "logits": out}


def example_inputs():
    return (torch.randn(8, 12),)
