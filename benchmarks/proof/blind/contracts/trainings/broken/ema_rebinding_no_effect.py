r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.swa_utils.AveragedModel.html
Fault: The teacher's parameters are only rebound to a new local tensor in the loop, so the teacher
    never changes.
Cause: rebind|rebound|local (variable|name|tensor)|in.?place
    |(teacher|ema|target)\w*.{0,80}(never|not|no effect|unchanged|constant|initial|stale)
    |gives a name to another tensor
"""

import copy
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(116)
mu = 1.3 * torch.randn(4, 10)
lab = torch.randint(4, (1000,))
x = mu[lab] + torch.randn(1000, 10)
few, rest, test = x[:80], x[80:800], x[800:]

student = nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 4))
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.Adam(student.parameters(), lr=5e-3)


@torch.no_grad()
def update_teacher(momentum=0.95):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t = momentum * t + (1 - momentum) * s


for step in range(150):
    i, j = torch.randint(0, 80, (20,)), torch.randint(0, 720, (40,))
    sup = F.cross_entropy(student(few[i]), lab[:80][i])
    with torch.no_grad():
        soft = teacher(rest[j]).softmax(1)
    cons = F.mse_loss(student(rest[j] + 0.3 * torch.randn(40, 10)).softmax(1), soft)
    opt.zero_grad()
    (sup + 2.0 * cons).backward()
    opt.step()
    update_teacher()
    if step % 50 == 49:
        print(f"step {step + 1} sup {sup.item():.4f} cons {cons.item():.4f}")
with torch.no_grad():
    print("teacher acc", (teacher(test).argmax(1) == lab[800:]).float().mean().item())
