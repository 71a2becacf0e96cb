r"""Student and frozen teacher segmenters that return a distillation loss.

Source: https://github.com/microsoft/ProDA/issues/43
Fault: kl_div gets probabilities of the student where it expects log-probabilities.
Cause: kl_?div.*(log|probabilit)|log.?softmax|log.?probabilit
Place: kl_div|softmax|student|forward
"""

import torch
import torch.nn.functional as F
from torch import nn


def segmenter(width, classes):
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, classes, 3, padding=1)
    )


class DistillPair(nn.Module):
    def __init__(self, classes=6):
        super().__init__()
        self.student_net = segmenter(8, classes)
        self.teacher_net = segmenter(16, classes)
        self.teacher_net.requires_grad_(False)

    def forward(self, image):
        student = F.softmax(self.student_net(image), dim=1)  # here
        with torch.no_grad():
            teacher = F.softmax(self.teacher_net(image), dim=1)
        return F.kl_div(student, teacher, reduction="none").sum(1).mean()


def build():
    return DistillPair()


def example_inputs():
    return torch.randn(2, 3, 16, 16)
