import os
from copy import deepcopy

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_mlp(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 3))


def soft_cross_entropy(student_logits, teacher_logits, T=2.0):
    target = F.softmax(teacher_logits / T, dim=-1)
    return -(target * F.log_softmax(student_logits / T, dim=-1)).sum(-1).mean() * T * T


def run(steps: int = 8) -> nn.Module:
    torch.manual_seed(3)
    teacher, student = make_mlp(32), make_mlp(8)
    average = deepcopy(student)  # an exponential moving average of the student
    teacher.eval()
    for p in average.parameters():
        p.requires_grad_(False)
    sgd = torch.optim.SGD(student.parameters(), lr=0.2)
    for step in range(steps):
        x, y = torch.randn(16, 6), torch.randint(3, (16,))
        with torch.no_grad():
            guide = teacher(x)
        logits = student(x)
        loss = 0.5 * F.cross_entropy(logits, y) + 0.5 * soft_cross_entropy(logits, guide)
        sgd.zero_grad(set_to_none=False)
        loss.backward()
        # truth: before("student", sgd, loss)
        sgd.step()
        # truth: after("student")
        with torch.no_grad():
            for slow, fast in zip(average.parameters(), student.parameters()):
                slow.lerp_(fast, 0.1)
            gap = (average(x) - student(x)).abs().mean()
        print("step %d loss %.5f gap %.5f" % (step, loss, gap))
    return student


if __name__ == "__main__":
    torch.save(run().state_dict(), os.environ["OUT"])
