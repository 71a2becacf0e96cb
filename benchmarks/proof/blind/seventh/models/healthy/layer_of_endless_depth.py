r"""Digit classifier whose one layer is applied until its state no longer moves.

Source: https://implicit-layers-tutorial.org/deep_equilibrium_models/
Odd: The search for the fixed point runs without gradients; only one more step is recorded, and a
    hook on its output solves the linear system of the implicit derivative.
"""

import torch
from torch import nn


class Cell(nn.Module):
    def __init__(self, channels, inner):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, inner, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(inner, channels, 3, padding=1, bias=False)
        nn.init.normal_(self.conv1.weight, std=0.02)
        nn.init.normal_(self.conv2.weight, std=0.02)

    def forward(self, z, x):
        return torch.tanh(x + self.conv2(torch.relu(self.conv1(z))))


def iterate(f, z, steps=25, damping=0.7):
    for _ in range(steps):
        z = (1 - damping) * z + damping * f(z)
    return z


class FixedPoint(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def forward(self, x):
        with torch.no_grad():
            z = iterate(lambda u: self.cell(u, x), torch.zeros_like(x))
        z = self.cell(z, x)
        if torch.is_grad_enabled():
            z0 = z.clone().detach().requires_grad_()
            f0 = self.cell(z0, x)

            def implicit(grad):
                def step(g):
                    return torch.autograd.grad(f0, z0, g, retain_graph=True)[0] + grad

                return iterate(step, torch.zeros_like(grad), steps=12, damping=0.5)

            z.register_hook(implicit)
        return z


class EndlessDepth(nn.Module):
    def __init__(self, channels=16, classes=10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        )
        self.deq = FixedPoint(Cell(channels, 24))
        self.norm = nn.BatchNorm2d(channels)
        self.head = nn.Linear(channels * 4, classes)

    def forward(self, x):
        z = self.norm(self.deq(self.stem(x)))
        return self.head(nn.functional.adaptive_avg_pool2d(z, 2).flatten(1))


def build():
    return EndlessDepth()


def example_inputs():
    return (torch.rand(4, 1, 12, 12),)
