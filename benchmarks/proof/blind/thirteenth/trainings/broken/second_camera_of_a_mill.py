r"""Adds a head for a second camera to a net that grades planks, without touching the first task.

Source: https://runebook.dev/en/docs/pytorch/generated/torch.nn.module/torch.nn.Module.children
Fault: Only the direct children of the body are looked at for batch norm layers, but they lie
    inside blocks, so not one is found; they stay in training mode, their running statistics
    move to the pictures of the new camera, and the grades of the first camera get worse.
Cause: children|nested|recurs|sub-?modules|modules\(\)|batch[- ]?norm.*(train|eval|running|statist)
    |running (mean|var|statist|estimate|average)
Place: children|body|norm|bn|freeze|keep_norms
"""
import torch
from torch import nn

torch.manual_seed(31)


def block(inner, outer):
    return nn.Sequential(nn.Linear(inner, outer), nn.BatchNorm1d(outer), nn.ReLU())


class Grader(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(block(20, 64), block(64, 64), block(64, 32))
        self.first = nn.Linear(32, 4)
        self.second = nn.Linear(32, 3)

    def forward(self, x, head):
        return getattr(self, head)(self.body(x))


def keep_norms(module):
    for layer in module.children():  # here
        if isinstance(layer, nn.BatchNorm1d):
            layer.eval()


def planks(n, kinds, centres, gain=1.0, offset=0.0):
    y = torch.randint(0, kinds, (n,))
    x = centres[y] + 0.9 * torch.randn(n, 20)
    return gain * x + offset, y


def accuracy(model, x, y, head):
    model.eval()
    with torch.no_grad():
        return (model(x, head).argmax(1) == y).float().mean().item()


first_centres, second_centres = torch.randn(4, 20), torch.randn(3, 20)
x1, y1 = planks(1500, 4, first_centres)
t1 = planks(500, 4, first_centres)
x2, y2 = planks(600, 3, second_centres, gain=1.8, offset=1.5)
t2 = planks(300, 3, second_centres, gain=1.8, offset=1.5)

model = Grader()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(12):
    model.train()
    for part in torch.randperm(len(x1)).split(50):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x1[part], "first"), y1[part]).backward()
        optimizer.step()
print(f"first camera: {accuracy(model, *t1, 'first'):.3f}")

for p in model.body.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.Adam(model.second.parameters(), lr=5e-3)
for epoch in range(12):
    model.train()
    keep_norms(model.body)
    for part in torch.randperm(len(x2)).split(20):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x2[part], "second"), y2[part]).backward()
        optimizer.step()

print(f"second camera: {accuracy(model, *t2, 'second'):.3f}")
print(f"first camera afterwards: {accuracy(model, *t1, 'first'):.3f}")
