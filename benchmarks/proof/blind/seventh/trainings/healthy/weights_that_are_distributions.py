r"""A curve with gaps in the data, by a network whose weights are distributions.

Source: https://github.com/nitarshan/bayes-by-backprop
Odd: The weights are drawn anew in each forward pass, no parameter is used as it is, and the
    complexity term, divided by the number of batches, is far larger than zero at the end.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(16)


def log_normal(x, mu, sigma):
    constant = 0.5 * math.log(2 * math.pi)
    return (-((x - mu) ** 2) / (2 * sigma**2) - torch.log(sigma) - constant).sum()


class BayesianLinear(nn.Module):
    def __init__(self, n_in, n_out, prior=1.0):
        super().__init__()
        scale = 1 / math.sqrt(n_in)
        self.weight_mu = nn.Parameter(scale * torch.randn(n_out, n_in))
        self.weight_rho = nn.Parameter(torch.full((n_out, n_in), -5.0))
        self.bias_mu = nn.Parameter(scale * torch.randn(n_out))
        self.bias_rho = nn.Parameter(torch.full((n_out,), -5.0))
        self.prior = torch.tensor(prior)
        self.complexity = 0.0

    def forward(self, x):
        drawn, total = [], 0.0
        for mu, rho in ((self.weight_mu, self.weight_rho), (self.bias_mu, self.bias_rho)):
            sigma = F.softplus(rho)
            w = mu + sigma * torch.randn_like(mu)
            total = total + log_normal(w, mu, sigma) - log_normal(w, torch.tensor(0.0), self.prior)
            drawn.append(w)
        self.complexity = total
        return F.linear(x, *drawn)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = BayesianLinear(1, 32), BayesianLinear(32, 32)
        self.l3 = BayesianLinear(32, 1)

    def forward(self, x):
        return self.l3(torch.tanh(self.l2(torch.tanh(self.l1(x)))))

    def sample_elbo(self, x, y, batches, noise=0.15):
        nll = -log_normal(y, self(x), torch.tensor(noise))
        complexity = self.l1.complexity + self.l2.complexity + self.l3.complexity
        return nll + complexity / batches, nll


x = torch.cat([torch.rand(150, 1) * 1.5 - 2.0, torch.rand(150, 1) * 1.5 + 0.5])
y = torch.sin(2.5 * x) + 0.1 * torch.randn_like(x)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=6e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 130, 3e-4)
for epoch in range(130):
    for rows in torch.randperm(300).split(100):
        loss, nll = net.sample_elbo(x[rows], y[rows], batches=3)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
    if epoch % 26 == 25:
        with torch.no_grad():
            draws = torch.stack([net(x) for _ in range(20)])
        rmse = (draws.mean(0) - y).square().mean().sqrt().item()
        print(f"epoch {epoch + 1} loss {loss.item():.1f} nll {nll.item():.1f} rmse {rmse:.3f}")
with torch.no_grad():
    spread = torch.stack([net(torch.tensor([[-1.2], [0.0], [1.2]])) for _ in range(200)]).std(0)
print("spread in, between and in the data", [round(v, 3) for v in spread.flatten().tolist()])
