r"""Trains an encoder of a generator against a discriminator.

Source: https://github.com/Hsintien-Ng/idinvert_pytorch-reproduced/issues/1
    https://github.com/Adversarial-Deep-Learning/code-soup/issues/69
Fault: the gradients of the discriminator are never cleared; those of all the past steps and of the
    encoder's loss pile up in each of its updates.
Cause: zero_grad|gradients?\b.*\b(accumulat|clear|reset|pile|stale|add
    up)|(accumulat|clear|reset)\w*\b.*\bgrad
Place: optimizer_D|zero_grad
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)
G = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 16)).requires_grad_(False)
E = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
D = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
optimizer_E = torch.optim.Adam(E.parameters(), lr=2e-3)
optimizer_D = torch.optim.Adam(D.parameters(), lr=2e-3)

for it in range(150):
    real = G(torch.randn(64, 4)) + 0.05 * torch.randn(64, 16)
    with torch.no_grad():
        rec = G(E(real))
    loss_d = F.softplus(-D(real)).mean() + F.softplus(D(rec)).mean()
    loss_d.backward()  # here
    optimizer_D.step()

    rec = G(E(real))
    loss_pix = F.mse_loss(rec, real)
    loss_adv = F.softplus(-D(rec)).mean()
    optimizer_E.zero_grad()
    (loss_pix + 0.1 * loss_adv).backward()
    optimizer_E.step()
    if it % 25 == 0:
        pile = sum(p.grad.norm().item() for p in D.parameters())
        print(f"{it} d {loss_d.item():.3f} pix {loss_pix.item():.4f} gradient of D {pile:.2f}")
