r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.prune.remove.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
from torch.nn.utils import prune

torch.manual_seed(252)
w = torch.randn(20, 4)
x = torch.randn(800, 20)
y = (x @ w).argmax(1)
net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 4))
layers = [m for m in net if isinstance(m, nn.Linear)]


def train(steps, lr):
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for _ in range(steps):
        idx = torch.randint(0, 640, (64,))
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        loss.backward()
        opt.step()
    return loss.item()


print("dense loss", train(80, 0.1))
for layer in layers:
    prune.l1_unstructured(layer, "weight", amount=0.7)
print("fine-tuned loss", train(60, 0.05))
for layer in layers:
    prune.remove(layer, "weight")
zeros = sum((m.weight == 0).sum().item() for m in layers)
total = sum(m.weight.numel() for m in layers)
with torch.no_grad():
    acc = (net(x[640:]).argmax(1) == y[640:]).float().mean().item()
print(f"sparsity {zeros / total:.3f} acc {acc:.3f}")
