"""A physics-informed network for u'' = -u with double backward, Adam and then LBFGS."""

import json

import torch
from torch import nn


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1)
        )

    def forward(self, t):
        return self.net(t)


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


torch.manual_seed(21)
pinn = PINN()
t_boundary = torch.tensor(0.0).view(-1, 1).requires_grad_(True)
t_physics = torch.linspace(0, 3, 40).view(-1, 1).requires_grad_(True)


def objective():
    u = pinn(t_boundary)
    loss1 = (torch.squeeze(u) - 1) ** 2
    loss2 = torch.squeeze(derivative(u, t_boundary)) ** 2
    u = pinn(t_physics)
    residual = derivative(derivative(u, t_physics), t_physics) + u
    return loss1 + 1e-1 * loss2 + 1e-1 * torch.mean(residual**2)


optimiser = torch.optim.Adam(pinn.parameters(), lr=5e-3)
losses = []
for i in range(150):
    optimiser.zero_grad()
    loss = objective()
    loss.backward()
    optimiser.step()
    losses.append(loss.item())
    if i % 50 == 0:
        print(i, loss.item())
fine = torch.optim.LBFGS(pinn.parameters(), max_iter=20)
values = []


def closure():
    fine.zero_grad()
    loss = objective()
    loss.backward()
    values.append(loss.item())
    return loss


fine.step(closure)
print(values[0], values[-1])
print("TRUTH", json.dumps({"pinn": [None, 151, losses[0], values[0]]}))
