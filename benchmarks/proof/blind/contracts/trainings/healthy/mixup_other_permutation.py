r"""A training.

Source: https://docs.pytorch.org/vision/stable/auto_examples/transforms/plot_cutmix_mixup.html
Healthy: the right twin of the broken case of this name.
"""

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F

rng = np.random.default_rng(0)
torch.manual_seed(240)
K = 4
mu = 1.5 * torch.randn(K, 12)
y = torch.randint(K, (700,))
x = mu[y] + torch.randn(700, 12)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, K))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)


def mixup(xb, yb, alpha=1.0):
    lam = float(rng.beta(alpha, alpha))
    perm = torch.randperm(len(xb))
    mixed = lam * xb + (1 - lam) * xb[perm]
    return mixed, yb, yb[perm], lam


for epoch in range(10):
    model.train()
    for idx in torch.randperm(560).split(56):
        xm, ya, yb, lam = mixup(x[idx], y[idx])
        out = model(xm)
        loss = lam * F.cross_entropy(out, ya) + (1 - lam) * F.cross_entropy(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
model.eval()
with torch.no_grad():
    out = model(x[560:])
print("test loss", F.cross_entropy(out, y[560:]).item(), "acc", (out.argmax(1) == y[560:]).float().mean().item())
