"""DP-SGD by hand: gradients per sample by vmap, clipped, with noise, and an optimizer."""

import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

torch.manual_seed(48)
model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
centers = 2 * torch.randn(4, 8)


def compute_loss(params, sample, target):
    prediction = functional_call(model, params, (sample.unsqueeze(0),))
    return F.cross_entropy(prediction, target.unsqueeze(0))


per_sample = vmap(grad_and_value(compute_loss), in_dims=(None, 0, 0))
losses = []
for step in range(80):
    y = torch.randint(4, (32,))
    params = {k: v.detach() for k, v in model.named_parameters()}
    grads, values = per_sample(params, centers[y] + torch.randn(32, 8), y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
    factor = (1.0 / (norms + 1e-6)).clamp(max=1.0)
    optimizer.zero_grad()
    for name, p in model.named_parameters():
        clipped = torch.einsum("n,n...->...", factor, grads[name])
        p.grad = (clipped + 0.1 * torch.randn_like(p)) / 32
    optimizer.step()
    losses.append(values.mean().item())
    if step % 20 == 0:
        print(step, losses[-1])
print("TRUTH", json.dumps({"model": ["SGD", 80, None, None]}))
