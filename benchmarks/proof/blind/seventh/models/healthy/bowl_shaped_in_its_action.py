r"""Cost that is convex in an action, so that the best action can be found by descent.

Source: https://github.com/locuslab/icnn
Odd: Some weight matrices pass through a softplus to stay positive and have no bias, and the
    action enters each layer anew; both are needed for the convexity.
"""

import torch
import torch.nn.functional as F
from torch import nn


class PositiveLinear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        start = (1 + 0.3 * torch.randn(outputs, inputs)) / inputs
        self.raw = nn.Parameter(start.clamp(min=1e-3).expm1().log())

    def forward(self, x):
        return F.linear(x, F.softplus(self.raw))


class Layer(nn.Module):
    def __init__(self, z, u, y, out):
        super().__init__()
        self.zu, self.yu = nn.Linear(u, z), nn.Linear(u, y)
        self.u = nn.Linear(u, out)
        self.z, self.y = PositiveLinear(z, out), nn.Linear(y, out, bias=False)
        nn.init.ones_(self.zu.bias)
        nn.init.ones_(self.yu.bias)

    def forward(self, z, u, y):
        return self.z(z * F.relu(self.zu(u))) + self.y(y * self.yu(u)) + self.u(u)


class ConvexCost(nn.Module):
    def __init__(self, state=6, action=2, hidden=32):
        super().__init__()
        self.state1, self.state2 = nn.Linear(state, hidden), nn.Linear(hidden, hidden)
        self.first_y, self.first_u = nn.Linear(action, hidden, bias=False), nn.Linear(state, hidden)
        self.layer1 = Layer(hidden, hidden, action, hidden)
        self.layer2 = Layer(hidden, hidden, action, 1)

    def forward(self, state, action):
        u1 = F.relu(self.state1(state))
        u2 = F.relu(self.state2(u1))
        z = F.leaky_relu(self.first_y(action) + self.first_u(state), 0.01)
        z = F.leaky_relu(self.layer1(z, u1, action), 0.01)
        return self.layer2(z, u2, action).squeeze(1)


def build():
    return ConvexCost()


def example_inputs():
    return torch.randn(8, 6), 2 * torch.rand(8, 2) - 1
