"""MAML over sine waves: an inner update by autograd.grad and functional_call, a meta optimizer."""

import json

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(20)
net = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
meta_opt = torch.optim.Adam(net.parameters(), lr=2e-3)


def sample_task():
    amplitude, phase = torch.rand(1) * 2 + 1, torch.rand(1) * 3.14

    def sample(k=10):
        x = torch.rand(k, 1) * 10 - 5
        return x, amplitude * torch.sin(x + phase)

    return sample


history = []
for it in range(60):
    meta_opt.zero_grad()
    meta_loss = 0.0
    for _ in range(4):
        task = sample_task()
        x, y = task()
        weights = dict(net.named_parameters())
        loss = nn.functional.mse_loss(functional_call(net, weights, x), y)
        grads = torch.autograd.grad(loss, tuple(weights.values()), create_graph=True)
        fast = {k: w - 0.01 * g for (k, w), g in zip(weights.items(), grads, strict=True)}
        x, y = task()
        meta_loss = meta_loss + nn.functional.mse_loss(functional_call(net, fast, x), y)
    meta_loss = meta_loss / 4
    meta_loss.backward()
    meta_opt.step()
    history.append(meta_loss.item())
    if it % 20 == 0:
        print(f"iteration {it}: meta loss {history[-1]:.4f}")
print("TRUTH", json.dumps({"net": ["Adam", 60, history[0], history[-1]]}))
