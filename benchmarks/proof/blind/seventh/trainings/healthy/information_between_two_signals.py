r"""The information between two correlated signals, estimated by a network.

Source: https://github.com/gtegner/mine-pytorch
Odd: The loss is negative and falls to minus the information; the pairs are shuffled on purpose
    for the second term, whose denominator is a moving average that takes no gradient.
"""

import math

import torch
from torch import nn

torch.manual_seed(10)
DIM, RHO = 4, 0.8


def sample(count):
    x = torch.randn(count, DIM)
    return x, RHO * x + math.sqrt(1 - RHO**2) * torch.randn(count, DIM)


class Statistic(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2 * DIM, width),
            nn.ELU(),
            nn.Linear(width, width),
            nn.ELU(),
            nn.Linear(width, 1),
        )

    def forward(self, x, z):
        return self.net(torch.cat([x, z], dim=1))


class Mine:
    def __init__(self, alpha=0.05, lr=1e-3):
        self.statistic = Statistic()
        self.alpha, self.running_mean = alpha, None
        self.optimizer = torch.optim.Adam(self.statistic.parameters(), lr=lr)

    def terms(self, x, z):
        joint = self.statistic(x, z).mean()
        marginal = self.statistic(x, z[torch.randperm(len(z))]).exp().mean()
        return joint, marginal

    def step(self, x, z):
        joint, marginal = self.terms(x, z)
        now = marginal.detach()
        if self.running_mean is None:
            self.running_mean = now
        self.running_mean = self.alpha * now + (1 - self.alpha) * self.running_mean
        loss = -(joint - marginal / self.running_mean)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def estimate(self, count=4000):
        joint, marginal = self.terms(*sample(count))
        return (joint - marginal.log()).item()


truth = -0.5 * DIM * math.log(1 - RHO**2)
mine = Mine()
print(f"true information {truth:.3f}, estimate before {mine.estimate():.3f}")
for step in range(400):
    loss = mine.step(*sample(256))
    if step % 80 == 79:
        print(f"step {step + 1} loss {loss:.3f} estimate {mine.estimate():.3f}")
