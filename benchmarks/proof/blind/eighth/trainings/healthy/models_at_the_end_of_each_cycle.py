"""Several models from one training: a copy is kept whenever the rate has come down to zero.

Source: https://github.com/gaohuang/SnapshotEnsemble
Odd: The rate jumps from zero to its highest value at the start of each cycle, so the loss rises
    there; the copies at the ends of the cycles are averaged in their predictions.
"""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(211)
CYCLES, STEPS, ALPHA_ZERO = 4, 60, 0.2
centres = 1.1 * torch.randn(12, 10)
owner = torch.arange(12) % 4


def sample(count):
    which = torch.randint(0, 12, (count,))
    label = owner[which].clone()
    wrong = torch.rand(count) < 0.1
    label[wrong] = torch.randint(0, 4, (int(wrong.sum()),))
    return centres[which] + 0.9 * torch.randn(count, 10), label, owner[which]


def cosine_rate(t):
    return ALPHA_ZERO / 2 * (math.cos(math.pi * (t % STEPS) / STEPS) + 1)


train_x, train_y, _ = sample(800)
test_x, _, test_y = sample(2000)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=ALPHA_ZERO, momentum=0.9, weight_decay=1e-4)
snapshots = []
for t in range(CYCLES * STEPS):
    for group in optimizer.param_groups:
        group["lr"] = cosine_rate(t)
    pick = torch.randint(0, len(train_x), (64,))
    loss = F.cross_entropy(model(train_x[pick]), train_y[pick])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if t % 20 == 0:
        print(f"step {t} rate {cosine_rate(t):.3f} loss {loss.item():.4f}")
    if (t + 1) % STEPS == 0:
        snapshots.append(copy.deepcopy(model).eval())

with torch.no_grad():
    each = [snapshot(test_x).softmax(1) for snapshot in snapshots]
    single = [(p.argmax(1) == test_y).float().mean().item() for p in each]
    together = (torch.stack(each).mean(0).argmax(1) == test_y).float().mean().item()
print("accuracy of each", [round(a, 3) for a in single], f"of the average {together:.3f}")
