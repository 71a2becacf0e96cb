r"""A training.

Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.cross_entropy.html
Healthy: the right twin of the broken case of this name.
"""

import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(236)
mu = torch.randn(4, 16)
lab = torch.randint(4, (800,))
x = 1.5 * mu[lab] + torch.randn(800, 16)


def view(v):
    return v * (torch.rand_like(v) > 0.2) + 0.3 * torch.randn_like(v)


def nt_xent(a, b, tau=0.2):
    z = F.normalize(torch.cat([a, b]), dim=1)
    sim = z @ z.t() / tau
    n = len(a)
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    target = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, target)


net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(120):
    xb = x[torch.randint(0, 640, (64,))]
    loss = nt_xent(net(view(xb)), net(view(xb)))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 29:
        print(f"step {step + 1} loss {loss.item():.4f}")
with torch.no_grad():
    z = F.normalize(net(x), dim=1)
near = (z[640:] @ z[:640].t()).argmax(1)
print("1-nn acc", (lab[near] == lab[640:]).float().mean().item())
