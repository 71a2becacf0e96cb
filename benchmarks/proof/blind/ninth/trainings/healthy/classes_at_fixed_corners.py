"""Patterns with a last layer that is fixed to rows of plus and minus one.

Source: https://github.com/eladhoffer/fix_your_classifier
Odd: The weights of the last layer are a buffer and are never trained, only one scale for all the
    classes is.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(1008)
CLASSES, PIXELS, SIZE = 12, 36, 32
centre = torch.randn(CLASSES, PIXELS)


def hadamard(n):
    h = torch.ones(1, 1)
    while len(h) < n:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)])
    return h


class HadamardProj(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("proj", hadamard(SIZE)[:CLASSES])
        self.scale = nn.Parameter(torch.tensor(SIZE**-0.5))
        self.bias = nn.Parameter(torch.empty(CLASSES).uniform_(-0.2, 0.2))

    def forward(self, x):
        x = x / (x.norm(2, -1, keepdim=True) + 1e-8)
        return self.scale * (x @ self.proj.T) + self.bias


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 0.9 * torch.randn(count, PIXELS), label


body = nn.Sequential(nn.Linear(PIXELS, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, SIZE))
model = nn.Sequential(body, HadamardProj())
optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9, weight_decay=1e-4)
test_x, test_y = draw(600)
for step in range(240):
    model.train()
    x, y = draw(64)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 48 == 47:
        model.eval()
        with torch.no_grad():
            accuracy = (model(test_x).argmax(1) == test_y).float().mean().item()
        scale = model[1].scale.item()
        print(f"step {step + 1} loss {loss.item():.4f} scale {scale:.3f} test {accuracy:.3f}")
