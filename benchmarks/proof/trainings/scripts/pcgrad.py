"""Gradient surgery: a gradient for each task by autograd.grad, projected, and put in p.grad."""

import json

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(47)
model = nn.ModuleDict(
    {
        "shared": nn.Sequential(nn.Linear(8, 32), nn.ReLU()),
        "a": nn.Linear(32, 1),
        "b": nn.Linear(32, 4),
    }
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
shared = list(model["shared"].parameters())
centers = 2 * torch.randn(4, 8)
losses = []
for step in range(100):
    y = torch.randint(4, (32,))
    x = centers[y] + torch.randn(32, 8)
    h = model["shared"](x)
    tasks = [F.mse_loss(model["a"](h), x.mean(1, keepdim=True)), F.cross_entropy(model["b"](h), y)]
    optimizer.zero_grad()
    grads = [torch.autograd.grad(task, shared, retain_graph=True) for task in tasks]
    flat = [torch.cat([g.flatten() for g in grad]) for grad in grads]
    dot = flat[0] @ flat[1]
    if dot < 0:
        a = flat[0] - dot / flat[1].square().sum() * flat[1]
        b = flat[1] - dot / flat[0].square().sum() * flat[0]
        flat = [a, b]
    sum(tasks).backward()
    merged = (flat[0] + flat[1]).split([p.numel() for p in shared])
    for p, g in zip(shared, merged, strict=True):
        p.grad = g.view_as(p).clone()
    optimizer.step()
    losses.append(sum(tasks).item())
    if step % 25 == 0:
        print(step, losses[-1])
print("TRUTH", json.dumps({"model": ["Adam", 100, losses[0], losses[-1]]}))
