r"""Adversarial training with projected gradient descent on the inputs.

Source: https://github.com/yaodongyu/TRADES/blob/master/trades.py
    https://github.com/MadryLab/cifar10_challenge
Odd: The model goes to eval mode for the attack and back, several gradients are taken without a step
    of the optimizer, and the training loss stays well above the clean loss.
"""

import torch
import torch.nn.functional as F
from torch import nn


def pgd_attack(model, x, y, epsilon=0.6, step_size=0.2, steps=4):
    model.eval()
    x_adv = x + 0.001 * torch.randn_like(x)
    for _ in range(steps):
        x_adv.requires_grad_(True)
        loss = F.cross_entropy(model(x_adv), y)
        grad = torch.autograd.grad(loss, x_adv)[0]
        x_adv = x_adv.detach() + step_size * grad.sign()
        x_adv = torch.min(torch.max(x_adv, x - epsilon), x + epsilon)
    model.train()
    return x_adv.detach()


torch.manual_seed(0)
model = nn.Sequential(
    nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 3)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
centers = torch.randn(3, 20)
for i in range(120):
    y = torch.randint(0, 3, (64,))
    x = centers[y] + 0.9 * torch.randn(64, 20)
    loss = F.cross_entropy(model(pgd_attack(model, x, y)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 24 == 23:
        clean = (model(x).argmax(1) == y).float().mean().item()
        print(f"iter {i} robust loss {loss.item():.4f} clean accuracy {clean:.3f}")
