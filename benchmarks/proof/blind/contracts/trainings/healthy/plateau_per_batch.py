r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.ReduceLROnPlateau.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(72)
n = 800
x = torch.randn(n, 10)
count = torch.poisson(torch.exp(0.4 * x[:, 0] - 0.3 * x[:, 1] + 0.2 * x[:, 2] * x[:, 3]))
xtr, ytr, xva, yva = x[:640], count[:640], x[640:], count[640:]

net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.2, patience=3)


def val_loss():
    net.eval()
    with torch.no_grad():
        return F.poisson_nll_loss(net(xva).squeeze(1), yva).item()


for epoch in range(12):
    net.train()
    for idx in torch.randperm(640).split(64):
        opt.zero_grad()
        loss = F.poisson_nll_loss(net(xtr[idx]).squeeze(1), ytr[idx])
        loss.backward()
        opt.step()
    v = val_loss()
    sched.step(v)
    print(f"epoch {epoch} val {v:.4f} lr {sched.get_last_lr()[0]:.1e}")
