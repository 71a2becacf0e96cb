r"""The field behind spiral orbits, learned through the solver of the differential equation.

Source: https://github.com/rtqichen/torchdiffeq/blob/master/examples/ode_demo.py
Odd: The network has no target of its own: its output is integrated by eight evaluations per
    interval and the error of the path flows back through all of them; weights start small, biases
    at zero.
"""

import torch
from torch import nn

torch.manual_seed(70)
true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
        for m in self.net:
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.zeros_(m.bias)

    def forward(self, y):
        return self.net(y**3)


def rk4(f, y, h):
    k1 = f(y)
    k2 = f(y + h / 2 * k1)
    k3 = f(y + h / 2 * k2)
    k4 = f(y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def odeint(f, y0, points, h, substeps):
    path = [y0]
    for _ in range(points - 1):
        y = path[-1]
        for _ in range(substeps):
            y = rk4(f, y, h / substeps)
        path.append(y)
    return torch.stack(path)


class MovingAverage:
    def __init__(self, momentum=0.9):
        self.momentum, self.value = momentum, None

    def update(self, new):
        old = new if self.value is None else self.value
        self.value = self.momentum * old + (1 - self.momentum) * new


with torch.no_grad():
    true_path = odeint(lambda y: y**3 @ true_A, torch.tensor([[2.0, 0.0]]), 400, 0.05, 4)
field = Field()
optimizer = torch.optim.RMSprop(field.parameters(), lr=4e-3)
meter = MovingAverage()
for step in range(160):
    start = torch.randint(0, 400 - 8, (32,))
    target = torch.stack([true_path[start + i, 0] for i in range(8)])
    predicted = odeint(field, target[0], 8, 0.05, 2)
    loss = (predicted - target).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meter.update(loss.item())
    if step % 32 == 31:
        with torch.no_grad():
            path = odeint(field, true_path[0], 100, 0.05, 2)
        error = (path - true_path[:100]).abs().mean().item()
        print(f"step {step + 1} loss {meter.value:.4f} error of the whole path {error:.4f}")
