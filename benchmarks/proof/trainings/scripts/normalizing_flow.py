"""RealNVP: the loss is -flow.log_prob(x), forward of the whole is never called."""

import json

import torch
from torch import nn

torch.manual_seed(41)


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.s = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))

    def inverse(self, y):
        a, b = y.chunk(2, 1)
        a, b = (b, a) if self.flip else (a, b)
        s = self.s(a)
        b = (b - self.t(a)) * torch.exp(-s)
        return torch.cat((b, a) if self.flip else (a, b), 1), -s.sum(1)


class RealNVP(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.prior = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(layers))

    def log_prob(self, x):
        log_det = torch.zeros(len(x))
        for layer in reversed(self.layers):
            x, change = layer.inverse(x)
            log_det = log_det + change
        return self.prior.log_prob(x) + log_det


flow = RealNVP(4)
optimizer = torch.optim.Adam(flow.parameters(), lr=3e-3)
losses = []
for step in range(120):
    u = torch.randn(128, 2)
    x = torch.stack([u[:, 0], 0.3 * u[:, 1] + u[:, 0] ** 2 / 2], 1)
    loss = -flow.log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 30 == 0:
        print(step, loss.item())
print("TRUTH", json.dumps({"flow": ["Adam", 120, losses[0], losses[-1]]}))
