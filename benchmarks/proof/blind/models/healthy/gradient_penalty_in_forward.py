"""A WGAN-GP critic that takes a gradient inside forward.

Source: https://github.com/caogang/wgan-gp/issues/47
Odd: forward calls autograd.grad with create_graph=True and makes its input a leaf.
"""

import torch
from torch import nn


class CriticGP(nn.Module):
    def __init__(self, dim=6, hidden=32, lam=10.0):
        super().__init__()
        self.net = nn.Sequential(
            nn.Flatten(), nn.Linear(dim, hidden), nn.Softplus(), nn.Linear(hidden, 1)
        )
        self.lam = lam

    def forward(self, real, fake):
        alpha = torch.rand(len(real), 1, 1)
        inter = (alpha * real + (1 - alpha) * fake).detach().requires_grad_(True)
        with torch.enable_grad():
            score = self.net(inter).sum()
            (grad,) = torch.autograd.grad(score, inter, create_graph=True)
        penalty = ((grad.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
        loss = self.net(fake).mean() - self.net(real).mean() + self.lam * penalty
        return {"loss": loss, "penalty": penalty}


def example_inputs():
    return (
        torch.randn(16, 2, 3),
        torch.randn(16, 2, 3) + 1,
    )
