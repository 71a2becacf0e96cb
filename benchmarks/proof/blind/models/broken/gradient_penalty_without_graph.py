"""A WGAN-GP critic that returns its loss with the gradient penalty.

Source: https://github.com/ooples/AiDotNet/issues/1844
Fault: the gradient is taken without create_graph: the penalty is a number that trains nothing.
Cause: create_graph|second.?order|double backward|graph|penalty.*(constant|no gradient|not)
Place: penalty|gradients
"""

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self, dim=6, hidden=32, lam=10.0):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.score = nn.Linear(hidden, 1)
        self.lam = lam

    def gradient_penalty(self, real, fake):
        alpha = torch.rand(real.size(0), 1)
        inter = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
        scores = self.score(self.net(inter)).sum()
        (gradients,) = torch.autograd.grad(scores, inter)  # here
        return ((gradients.norm(2, dim=1) - 1) ** 2).mean()

    def forward(self, real, fake):
        penalty = self.gradient_penalty(real, fake)
        wasserstein = self.score(self.net(fake)).mean() - self.score(self.net(real)).mean()
        return {"loss": wasserstein + self.lam * penalty, "penalty": penalty}


def example_inputs():
    return (
        torch.randn(16, 6),
        torch.randn(16, 6),
    )
