"""SimCLR: two views through an encoder and a projection head, NT-Xent, one optimizer over both."""

import json

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(36)
encoder = nn.Sequential(nn.Linear(16, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
projector = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 8))
optimizer = torch.optim.Adam([*encoder.parameters(), *projector.parameters()], lr=1e-3)


def nt_xent(z1, z2, temperature=0.5):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.T / temperature
    sim.fill_diagonal_(float("-inf"))
    n = len(z1)
    return F.cross_entropy(sim, torch.cat([torch.arange(n) + n, torch.arange(n)]))


losses = []
for step in range(100):
    x = torch.randn(32, 16)
    h1, h2 = encoder(x + 0.3 * torch.randn_like(x)), encoder(x + 0.3 * torch.randn_like(x))
    loss = nt_xent(projector(h1), projector(h2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 25 == 0:
        print(step, loss.item())
row = ["Adam", 100, losses[0], losses[-1]]
print("TRUTH", json.dumps({"encoder": row, "projector": row}))
