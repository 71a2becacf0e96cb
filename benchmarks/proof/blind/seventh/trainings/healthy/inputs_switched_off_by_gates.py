r"""Only a few of many inputs matter; gates that are exactly zero or one select them.

Source: https://github.com/AMLab-Amsterdam/L0_regularization
Odd: Gates are stretched and clamped, so that many have no gradient at all in a step; the penalty
    is the expected number of open gates, and the loss at the end consists mostly of it.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

LIMIT_A, LIMIT_B, EPS = -0.1, 1.1, 1e-6


class L0Inputs(nn.Module):
    def __init__(self, features, start=0.5, temperature=2 / 3):
        super().__init__()
        self.temperature = temperature
        log_odds = math.log(start) - math.log(1 - start)
        self.qz_loga = nn.Parameter(log_odds + 1e-2 * torch.randn(features))

    def open_probability(self):
        shift = self.temperature * math.log(-LIMIT_A / LIMIT_B)
        return torch.sigmoid(self.qz_loga - shift).clamp(EPS, 1 - EPS)

    def forward(self, x):
        if self.training:
            u = torch.empty_like(x).uniform_(EPS, 1 - EPS)
            s = torch.sigmoid((u.log() - (1 - u).log() + self.qz_loga) / self.temperature)
        else:
            s = torch.sigmoid(self.qz_loga)
        return x * F.hardtanh(s * (LIMIT_B - LIMIT_A) + LIMIT_A, 0, 1)


class Sparse(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gates = L0Inputs(features)
        self.net = nn.Sequential(nn.Linear(features, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(self.gates(x)).squeeze(-1)


def sample(count):
    x = torch.randn(count, 30)
    y = 1.5 * x[:, 0] + x[:, 1] * x[:, 2] - 1.2 * x[:, 3].abs() + 0.2 * torch.randn(count)
    return x, y


def main():
    torch.manual_seed(77)
    model = Sparse(30)
    optimizer = torch.optim.Adam(
        [
            {"params": model.net.parameters(), "lr": 3e-3},
            {"params": model.gates.parameters(), "lr": 3e-2},
        ]
    )
    test_x, test_y = sample(1000)
    for step in range(400):
        model.train()
        x, y = sample(128)
        error = F.mse_loss(model(x), y)
        loss = error + 0.02 * model.gates.open_probability().sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 80 == 79:
            model.eval()
            with torch.no_grad():
                rest = (F.mse_loss(model(test_x), test_y) / test_y.var()).item()
            expected = model.gates.open_probability().sum().item()
            print(f"{step + 1} loss {loss.item():.3f} open {expected:.1f} unexplained {rest:.3f}")


main()
