r"""A physics-informed network for the equation u'' + u = 0 with u(0) = 1 and u'(0) = 0.

Source: https://github.com/benmoseley/harmonic-oscillator-pinn
    https://github.com/maziarraissi/PINNs
Odd: There are no data at all; the loss is built from derivatives of the network by its input, with
    two nested gradient calls in each step.
"""

import torch
from torch import nn


class FCN(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.fch = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.fce = nn.Linear(hidden, 1)

    def forward(self, t):
        return self.fce(self.fch(t))


def derivative(u, t):
    return torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]


torch.manual_seed(123)
pinn = FCN()
optimizer = torch.optim.Adam(pinn.parameters(), lr=1e-2)
t_boundary = torch.zeros(1, 1, requires_grad=True)
t_physics = torch.linspace(0, 3, 30).view(-1, 1).requires_grad_(True)
t_test = torch.linspace(0, 3, 100).view(-1, 1)
for i in range(300):
    u0 = pinn(t_boundary)
    loss1 = (u0 - 1).pow(2).mean() + 0.1 * derivative(u0, t_boundary).pow(2).mean()
    u = pinn(t_physics)
    loss2 = (derivative(derivative(u, t_physics), t_physics) + u).pow(2).mean()
    optimizer.zero_grad()
    (loss1 + 0.1 * loss2).backward()
    optimizer.step()
    if i % 60 == 59:
        error = (pinn(t_test) - torch.cos(t_test)).abs().max().item()
        print(f"step {i} boundary {loss1.item():.5f} physics {loss2.item():.5f} error {error:.4f}")
