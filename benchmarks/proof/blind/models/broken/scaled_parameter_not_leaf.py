r"""A factorisation machine with a scaled initialisation of the factors.

Source: https://github.com/d2l-ai/d2l-en/pull/1713
    https://github.com/pytorch/pytorch/issues/17484
Fault: Parameter times 0.01 is a plain tensor, so the factors are not in parameters() and never
    change.
Cause: not a (leaf|Parameter)|non-?leaf|not registered|unregistered|plain tensor|multipl.*Parameter
Place: \bv\b|factors
"""

import torch
from torch import nn


class FactorizationMachine(nn.Module):
    def __init__(self, n_features=12, k=5):
        super().__init__()
        self.linear = nn.Linear(n_features, 1)
        self.v = nn.Parameter(torch.randn(n_features, k)) * 0.01  # here

    def forward(self, x):
        square_of_sum = (x @ self.v).pow(2)
        sum_of_square = x.pow(2) @ self.v.pow(2)
        pairwise = 0.5 * (square_of_sum - sum_of_square).sum(1, keepdim=True)
        return torch.sigmoid(self.linear(x) + pairwise)


def example_inputs():
    return (torch.randn(16, 12),)
