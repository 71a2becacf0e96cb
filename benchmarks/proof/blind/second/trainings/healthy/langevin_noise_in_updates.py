"""Samples the weights of a Bayesian regression with stochastic gradient Langevin dynamics.

Source: https://github.com/JavierAntoran/Bayesian-Neural-Networks/blob/master/src/Stochastic_Gradient_Langevin_Dynamics/optimizers.py
Odd: noise is added to the weights after each step and the loss keeps jittering at the end; the
    sampler draws from the posterior, and the averaged prediction is good.
"""

import torch
from torch import nn

torch.manual_seed(18)
x = torch.linspace(-2, 2, 200)[:, None]
y = torch.sin(2 * x) + 0.1 * torch.randn(200, 1)


class SGLD(torch.optim.Optimizer):
    def __init__(self, params, lr, prior=1.0):
        super().__init__(params, {"lr": lr, "prior": prior})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                drift = p.grad + group["prior"] * p
                p.add_(drift, alpha=-0.5 * group["lr"])
                p.add_(torch.randn_like(p), alpha=group["lr"] ** 0.5)


net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = SGLD(net.parameters(), lr=1e-4)
samples = []
for step in range(600):
    rows = torch.randint(0, 200, (50,))
    nll = 200 * (net(x[rows]) - y[rows]).square().mean() / (2 * 0.1)
    optimizer.zero_grad()
    nll.backward()
    optimizer.step()
    if step >= 300 and step % 5 == 0:
        samples.append(net(x).detach())
    if step % 100 == 0:
        print(f"step {step} nll {nll.item():.2f}")
error = (torch.stack(samples).mean(0) - torch.sin(2 * x)).square().mean().item()
print(f"error of the averaged prediction {error:.4f}")
