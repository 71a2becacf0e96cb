r"""Contrast of two views with a predictor and a momentum encoder.

Source: https://github.com/facebookresearch/moco-v3/issues/31
Odd: The loss is multiplied by twice the temperature; the momentum encoder is in no optimizer.
"""

import copy

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
base = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 16))
momentum = copy.deepcopy(base).requires_grad_(False)
predictor = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))
optimizer = torch.optim.AdamW([*base.parameters(), *predictor.parameters()], lr=3e-3)
T = 0.2


def contrastive_loss(q, k):
    logits = F.normalize(q, dim=1) @ F.normalize(k, dim=1).t() / T
    return F.cross_entropy(logits, torch.arange(len(q))) * (2 * T)


for step in range(60):
    x = torch.randn(64, 16)
    x1, x2 = x + 0.2 * torch.randn(64, 16), x + 0.2 * torch.randn(64, 16)
    q1, q2 = predictor(base(x1)), predictor(base(x2))
    with torch.no_grad():
        for p, m in zip(base.parameters(), momentum.parameters(), strict=True):
            m.mul_(0.95).add_(p, alpha=0.05)
        k1, k2 = momentum(x1), momentum(x2)
    loss = contrastive_loss(q1, k2) + contrastive_loss(q2, k1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.3f}")
print(f"loss {loss.item():.3f}")
