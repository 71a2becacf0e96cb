"""Patterns with a net whose early layers stop being trained during the run.

Source: https://github.com/ajbrock/FreezeOut
Odd: Every layer has a learning rate of its own that goes to zero, and then it gets no gradient
    any more; the first layers are frozen long before the end.
"""

import math

import torch
from torch import nn

torch.manual_seed(1006)
CLASSES, PIXELS, STEPS, LR, T0 = 8, 40, 240, 0.1, 0.5
centre = torch.randn(CLASSES, PIXELS)


def draw(count):
    label = torch.randint(0, CLASSES, (count,))
    return centre[label] + 1.2 * torch.randn(count, PIXELS), label


widths = [PIXELS, 64, 64, 64, CLASSES]
layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths[:-1], widths[1:], strict=True))
for number, layer in enumerate(layers):
    share = T0 + (1 - T0) * number / (len(layers) - 1)
    layer.max_step = int(STEPS * share**3)
    layer.lr_ratio = 1 / max(share**3, 1e-3) ** 0.5
    layer.active = True
optimizer = torch.optim.SGD(
    [{"params": m.parameters(), "lr": LR, "layer": i} for i, m in enumerate(layers)], momentum=0.9
)


def forward(x):
    for layer in layers[:-1]:
        x = layer(x)
        if not layer.active:
            x = x.detach()
        x = x.relu()
    return layers[-1](x)


def update_lr(step):
    for group in list(optimizer.param_groups):
        layer = layers[group["layer"]]
        if step >= layer.max_step:
            layer.active = False
            layer.requires_grad_(False)
            optimizer.param_groups.remove(group)
            print(f"step {step}: layer {group['layer']} is frozen")
        else:
            cosine = 1 + math.cos(math.pi * step / layer.max_step)
            group["lr"] = 0.5 * LR * layer.lr_ratio * cosine


test_x, test_y = draw(600)
for step in range(STEPS):
    update_lr(step)
    x, y = draw(64)
    loss = nn.functional.cross_entropy(forward(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        with torch.no_grad():
            accuracy = (forward(test_x).argmax(1) == test_y).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} test {accuracy:.3f}")
