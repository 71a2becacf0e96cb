r"""Two tasks on one trunk, where each step finds how to weigh their gradients.

Source: https://github.com/isl-org/MultiObjectiveOptimization
Odd: There are two backward passes that only measure, the gradients of which are thrown away; the
    weights of the losses are another pair in each step and sometimes nearly zero.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(10)
trunk = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
heads = nn.ModuleDict({"L": nn.Linear(24, 4), "R": nn.Linear(24, 1)})
left, right = torch.randn(12, 4), torch.randn(12, 1) / 4
everything = [*trunk.parameters(), *heads.parameters()]
optimizer = torch.optim.Adam(everything, lr=3e-3)


def batch(count=128):
    x = torch.randn(count, 12)
    return x, {"L": (x @ left).argmax(1), "R": torch.sin(x @ right)}


def losses(x, labels):
    z = trunk(x)
    return {
        "L": F.cross_entropy(heads["L"](z), labels["L"]),
        "R": F.mse_loss(heads["R"](z), labels["R"]),
    }


def min_norm_scale(g1, g2):
    """Return the weight of the first gradient at the point of least norm between the two."""
    return (((g2 - g1) @ g2) / (g1 - g2).square().sum().clamp(min=1e-12)).clamp(0, 1).item()


for step in range(100):
    x, labels = batch()
    grads = {}
    for task, loss in losses(x, labels).items():
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        g = torch.cat([p.grad.flatten() for p in trunk.parameters()])
        grads[task] = g / loss.item()
    first = min_norm_scale(grads["L"], grads["R"])
    scale = {"L": first, "R": 1 - first}

    optimizer.zero_grad()
    parts = losses(x, labels)
    loss = sum(scale[task] * parts[task] for task in parts)
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} L {parts['L'].item():.3f} R {parts['R'].item():.4f} scale {first:.2f}")
print(f"last L {parts['L'].item():.3f} R {parts['R'].item():.4f}")
