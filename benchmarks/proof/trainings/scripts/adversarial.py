"""Adversarial training with PGD in the style of TRADES: eval mode for the attack."""

import json

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(40)
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=2e-4)
criterion_kl = nn.KLDivLoss(reduction="sum")
centers = 3 * torch.randn(4, 8)


def trades_loss(model, x_natural, y, optimizer, step_size=0.1, epsilon=0.3, steps=4, beta=1.0):
    model.eval()
    x_adv = x_natural.detach() + 0.001 * torch.randn(x_natural.shape)
    for _ in range(steps):
        x_adv.requires_grad_()
        with torch.enable_grad():
            log_adv = F.log_softmax(model(x_adv), dim=1)
            loss_kl = criterion_kl(log_adv, F.softmax(model(x_natural), dim=1))
        grad = torch.autograd.grad(loss_kl, [x_adv])[0]
        x_adv = x_adv.detach() + step_size * torch.sign(grad.detach())
        x_adv = torch.min(torch.max(x_adv, x_natural - epsilon), x_natural + epsilon)
    model.train()
    optimizer.zero_grad()
    logits = model(x_natural)
    natural = F.cross_entropy(logits, y)
    robust = criterion_kl(F.log_softmax(model(x_adv), dim=1), F.softmax(model(x_natural), dim=1))
    return natural + beta * robust / len(x_natural)


losses = []
for step in range(80):
    y = torch.randint(4, (32,))
    loss = trades_loss(model, centers[y] + torch.randn(32, 8), y, optimizer)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 20 == 0:
        print(step, loss.item())
print("TRUTH", json.dumps({"model": ["SGD", 80, losses[0], losses[-1]]}))
