"""Heights of a tide as a random function with a trained covariance.

Source: https://github.com/cornellius-gp/gpytorch
Odd: Three numbers are trained on one batch with all the data, the loss is a negative log density
    that passes below zero, and in the prediction the training data is needed again.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(263)


def tide(t):
    return torch.sin(2 * math.pi * t) + 0.4 * torch.sin(2 * math.pi * 2.6 * t)


train_x = torch.sort(4 * torch.rand(90)).values
train_y = tide(train_x) + 0.06 * torch.randn(90)
test_x = torch.linspace(0.1, 3.9, 150)


class ExactGPModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw_lengthscale = nn.Parameter(torch.tensor(0.5))
        self.raw_outputscale = nn.Parameter(torch.tensor(0.5))
        self.raw_noise = nn.Parameter(torch.tensor(0.5))

    def kernel(self, a, b):
        gap = (a[:, None] - b[None]) / F.softplus(self.raw_lengthscale)
        return F.softplus(self.raw_outputscale) * torch.exp(-0.5 * gap.square())

    def factor(self, x):
        noise = F.softplus(self.raw_noise) + 1e-4
        return torch.linalg.cholesky(self.kernel(x, x) + noise * torch.eye(len(x)))

    def negative_log_marginal(self, x, y):
        L = self.factor(x)
        alpha = torch.cholesky_solve(y[:, None], L).squeeze(1)
        value = 0.5 * y @ alpha + L.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)
        return value / len(x)

    @torch.no_grad()
    def predict(self, x, y, new):
        L = self.factor(x)
        cross = self.kernel(new, x)
        mean = cross @ torch.cholesky_solve(y[:, None], L).squeeze(1)
        half = torch.linalg.solve_triangular(L, cross.T, upper=False)
        var = F.softplus(self.raw_outputscale) - half.square().sum(0)
        return mean, var.clamp(min=1e-6) + F.softplus(self.raw_noise)


model = ExactGPModel()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for i in range(120):
    optimizer.zero_grad()
    loss = model.negative_log_marginal(train_x, train_y)
    loss.backward()
    optimizer.step()
    if i % 20 == 0:
        print(
            f"Iter {i + 1}/120 - Loss: {loss.item():.3f} "
            f"lengthscale: {F.softplus(model.raw_lengthscale).item():.3f} "
            f"noise: {F.softplus(model.raw_noise).item():.3f}"
        )
mean, var = model.predict(train_x, train_y, test_x)
error = (mean - tide(test_x)).square().mean().sqrt().item()
inside = ((mean - tide(test_x)).abs() < 2 * var.sqrt()).float().mean().item()
print(f"Loss {loss.item():.3f} error {error:.4f}, within two deviations {inside:.3f}")
