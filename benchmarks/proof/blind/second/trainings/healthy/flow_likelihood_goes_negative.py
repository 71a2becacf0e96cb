"""Trains a normalising flow for anomaly detection by maximum likelihood.

Source: https://github.com/marco-rudolph/differnet/issues/10
Odd: the loss crosses zero and stays negative; it is a negative log-likelihood of a density, which
    can be larger than one.
"""

import torch
from torch import nn

torch.manual_seed(11)


class Coupling(nn.Module):
    def __init__(self, dim, hidden=32):
        super().__init__()
        self.half = dim // 2
        self.net = nn.Sequential(nn.Linear(self.half, hidden), nn.ReLU(), nn.Linear(hidden, dim))
        self.register_buffer("perm", torch.randperm(dim))

    def forward(self, x):
        a, b = x[:, self.half :], x[:, : self.half]
        s, t = self.net(a).chunk(2, 1)
        s = 2.0 * torch.tanh(s / 2.0)
        return torch.cat([a, b * s.exp() + t], 1)[:, self.perm], s.sum(1)


class Flow(nn.Module):
    def __init__(self, dim=6, blocks=4):
        super().__init__()
        self.blocks = nn.ModuleList(Coupling(dim) for _ in range(blocks))

    def forward(self, x):
        jac = 0.0
        for block in self.blocks:
            x, j = block(x)
            jac = jac + j
        return x, jac


base = torch.randn(512, 2)
features = torch.cat([base, base @ torch.randn(2, 4)], 1) * 0.2 + 0.02 * torch.randn(512, 6)
flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=2e-3)
for epoch in range(25):
    for x in features[torch.randperm(512)].split(64):
        z, jac = flow(x)
        loss = (0.5 * z.square().sum(1) - jac).mean() / z.size(1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 5 == 0 or epoch == 24:
        print(f"epoch {epoch} train loss {loss.item():.3f}")
