r"""Curves from a few of their points: a set of points is summed up and queried anywhere.

Source: https://github.com/google-deepmind/neural-processes
Odd: The loss is a negative log likelihood that goes below zero, the number of known points
    changes at each step, and the spread has a floor of 0.1 so that it cannot shrink to nothing.
"""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal

torch.manual_seed(23)


class Mlp(nn.Sequential):
    def __init__(self, *sizes):
        layers = []
        for a, b in zip(sizes, sizes[1:]):
            layers += [nn.Linear(a, b), nn.ReLU()]
        super().__init__(*layers[:-1])


class ConditionalProcess(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.encoder = Mlp(2, width, width, width)
        self.decoder = Mlp(width + 1, width, width, 2)

    def forward(self, known_x, known_y, query_x):
        summary = self.encoder(torch.cat([known_x, known_y], -1)).mean(1, keepdim=True)
        summary = summary.expand(-1, query_x.size(1), -1)
        mu, raw = self.decoder(torch.cat([summary, query_x], -1)).chunk(2, -1)
        return Normal(mu, 0.1 + 0.9 * F.softplus(raw))


def curves(count, points=40):
    x = torch.rand(count, points, 1) * 4 - 2
    height = 0.5 + torch.rand(count, 1, 1)
    phase = 6.28 * torch.rand(count, 1, 1)
    return x, height * torch.sin(1.5 * x + phase)


def evaluate(model, known):
    x, y = curves(300)
    with torch.no_grad():
        predicted = model(x[:, :known], y[:, :known], x)
    return (predicted.mean - y).square().mean().sqrt().item(), predicted.stddev.mean().item()


model = ConditionalProcess()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 400)
for step in range(400):
    x, y = curves(48)
    known = int(torch.randint(3, 12, ()))
    loss = -model(x[:, :known], y[:, :known], x).log_prob(y).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 80 == 79:
        few, many = evaluate(model, 3), evaluate(model, 12)
        print(
            f"step {step + 1} loss {loss.item():+.3f} rmse with 3 points {few[0]:.3f}, "
            f"with 12 {many[0]:.3f}"
        )
