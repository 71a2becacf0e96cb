"""Pattern which, laid over any picture, makes a fixed classifier call one name.

Source: https://github.com/sail-sg/AnyDoor/issues/2
Odd: There is a minus before the cross entropy and no optimizer; the pattern is moved up the
    gradient by its sign, and the net itself is not to change any more.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(138)
NAMES, SIZE, EPS, MU, STEP = 6, 10, 1.2, 0.9, 0.05
faces = torch.randn(NAMES, 1, SIZE, SIZE)


def pictures(count):
    names = torch.randint(0, NAMES, (count,))
    return faces[names] + 0.5 * torch.randn(count, 1, SIZE, SIZE), names


net = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(8 * SIZE * SIZE, NAMES)
)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
for step in range(60):
    x, names = pictures(64)
    loss = F.cross_entropy(net(x), names)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"classifier loss {loss.item():.4f}")

net.eval()
for p in net.parameters():
    p.requires_grad_(False)
target = 2
uap = torch.zeros(1, 1, SIZE, SIZE, requires_grad=True)
momentum = torch.zeros_like(uap)
for step in range(80):
    x, _ = pictures(64)
    output = net(x + uap)
    loss = -F.cross_entropy(output, torch.full((64,), target))
    loss.backward()
    grad = uap.grad.detach()
    momentum = MU * momentum + grad / torch.norm(grad, p=1)
    uap.data = (uap.data + STEP * momentum.sign()).clamp(-EPS, EPS)
    uap.grad = None
    if step % 16 == 15:
        called = (output.argmax(1) == target).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} called {called:.3f}")
