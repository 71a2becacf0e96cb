r"""The density of a figure by a chain of maps, each of which changes one half of the numbers.

Source: https://github.com/chrischute/real-nvp
Odd: Each map leaves half of its input untouched, the last layers of its network start at zero so
    that the chain begins as the identity, and weight normalisation keeps a scale apart from each
    direction.
"""

import math

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(120)


class Coupling(nn.Module):
    def __init__(self, flip, width=48):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(
            weight_norm(nn.Linear(1, width)),
            nn.ReLU(),
            weight_norm(nn.Linear(width, width)),
            nn.ReLU(),
        )
        self.out = nn.Linear(width, 2)
        nn.init.zeros_(self.out.weight)
        nn.init.zeros_(self.out.bias)
        self.rescale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.out(self.net(a)).chunk(2, 1)
        s = self.rescale * torch.tanh(s)
        b = (b + t) * s.exp()
        pair = (b, a) if self.flip else (a, b)
        return torch.cat(pair, 1), s.squeeze(1)


class RealNvp(nn.Module):
    def __init__(self, maps=6):
        super().__init__()
        self.maps = nn.ModuleList([Coupling(i % 2 == 1) for i in range(maps)])

    def log_prob(self, x):
        total = 0.0
        for coupling in self.maps:
            x, log_det = coupling(x)
            total = total + log_det
        return total - 0.5 * x.square().sum(1) - math.log(2 * math.pi)


def figure(count):
    a = 4.0 * torch.rand(count)
    x = torch.stack([a.cos() * (0.4 + 0.4 * a), a.sin() * (0.4 + 0.4 * a)], 1)
    return x + 0.08 * torch.randn(count, 2)


model = RealNvp()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
test = figure(1000)
for step in range(300):
    loss = -model.log_prob(figure(200)).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 100.0)
    optimizer.step()
    if step % 60 == 59:
        with torch.no_grad():
            held_out = -model.log_prob(test).mean().item()
        print(f"step {step + 1} loss {loss.item():.3f} test {held_out:.3f}")
