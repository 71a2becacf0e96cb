"""Curve of good nets that joins two nets trained from different starts.

Source: https://github.com/timgaripov/dnn-mode-connectivity
Odd: In the second part both ends are frozen, the net used in a step is a mixture at a random
    place of the curve, and only the bend in the middle is trained.
"""

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(1023)
CLASSES, PIXELS = 4, 16
teacher = nn.Sequential(nn.Linear(PIXELS, 24), nn.Tanh(), nn.Linear(24, CLASSES))
with torch.no_grad():
    for p in teacher.parameters():
        p.mul_(3)


def draw(count):
    x = torch.randn(count, PIXELS)
    with torch.no_grad():
        return x, teacher(x).argmax(1)


def make():
    return nn.Sequential(nn.Linear(PIXELS, 48), nn.ReLU(), nn.Linear(48, CLASSES))


def fit(net, steps=150):
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(steps):
        x, y = draw(64)
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name: p.detach() for name, p in net.named_parameters()}


start, end = fit(make()), fit(make())
bend = nn.ParameterDict({n.replace(".", "_"): nn.Parameter((start[n] + end[n]) / 2) for n in start})
skeleton = make().requires_grad_(False)
test_x, test_y = draw(600)


def on_curve(t, x):
    weights = {
        n: (1 - t) ** 2 * start[n] + 2 * t * (1 - t) * bend[n.replace(".", "_")] + t**2 * end[n]
        for n in start
    }
    return functional_call(skeleton, weights, x)


def along():
    with torch.no_grad():
        places = torch.linspace(0, 1, 9)
        return [(on_curve(t, test_x).argmax(1) == test_y).float().mean().item() for t in places]


print("before " + " ".join(f"{a:.3f}" for a in along()))
optimizer = torch.optim.Adam(bend.parameters(), lr=1e-2)
for step in range(240):
    x, y = draw(64)
    loss = nn.functional.cross_entropy(on_curve(torch.rand(()), x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        print(f"step {step + 1} loss {loss.item():.4f} least {min(along()):.3f}")
print("after " + " ".join(f"{a:.3f}" for a in along()))
