r"""A network with the snake activation, whose frequency is learnt per channel.

Source: https://github.com/EdwardDixon/snake/pull/2
Fault: squeeze() is called on the Parameter, so the attribute is an ordinary tensor: it is not
    registered and the optimiser never sees it.
Cause: squeeze|(not|un).?registered|(non.?|not a )leaf|parameter\b.*\b(view|plain|ordinary)|not a
    parameter
Place: Snake|self\.a\b|\balpha\b
"""

import torch
from torch import nn


class Snake(nn.Module):
    def __init__(self, in_features, a=None):
        super().__init__()
        if a is not None:
            initial = torch.ones(in_features) * a
        else:
            initial = torch.distributions.Exponential(torch.tensor([0.1])).rsample((in_features,))
        self.a = nn.Parameter(initial).squeeze()  # here

    def forward(self, x):
        return x + (1.0 / (self.a + 1e-9)) * torch.sin(x * self.a) ** 2


class PeriodicRegressor(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, hidden),
            Snake(hidden),
            nn.Linear(hidden, hidden),
            Snake(hidden),
            nn.Linear(hidden, 1),
        )

    def forward(self, t):
        return self.net(t)


def build():
    return PeriodicRegressor()


def example_inputs():
    return (torch.linspace(-3, 3, 64)[:, None],)
