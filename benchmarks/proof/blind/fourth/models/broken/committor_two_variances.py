r"""Committor of a reaction, trained by a variational loss with learned noise of the two terms.

Source: https://github.com/luigibonati/mlcolvar/issues/219
Fault: The learned log variances are enabled but the loss never uses them.
Cause: log_var\w*
Place: log_var
"""

import torch
from torch import nn


class CommittorLoss(nn.Module):
    def __init__(self, log_var=True):
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(2)) if log_var else None  # here

    def forward(self, x, q, labels, weights):
        grad = torch.autograd.grad(q.sum(), x, create_graph=True)[0]
        variational = (grad.square().sum(1) * weights).mean()
        boundary = q[labels == 0].square().mean() + (q[labels == 1] - 1).square().mean()
        return variational + 10 * boundary


class Committor(nn.Module):
    def __init__(self, size=6):
        super().__init__()
        self.nn = nn.Sequential(
            nn.Linear(size, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1)
        )
        self.loss_fn = CommittorLoss()

    def forward(self, x, labels, weights):
        x = x.detach().requires_grad_()
        q = torch.sigmoid(3 * self.nn(x)).squeeze(1)
        return self.loss_fn(x, q, labels, weights)


def build():
    return Committor()


def example_inputs():
    return torch.randn(24, 6), torch.arange(24) % 3, torch.rand(24) + 0.5
