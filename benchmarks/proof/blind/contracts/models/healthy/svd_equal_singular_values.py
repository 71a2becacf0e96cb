r"""Linear map that always stays orthogonal.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.svd.html
Healthy: the right twin of the broken case of this name.
"""

import torch
import torch.nn as nn


class Rotation(nn.Module):
    """Linear map that always stays orthogonal."""

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(dim, dim))

    def matrix(self):
        a = self.weight.triu(1)
        return torch.linalg.matrix_exp(a - a.T)

    def forward(self, x):
        return x @ self.matrix().T


class AlignmentNet(nn.Module):
    def __init__(self, source=10, dim=8, target=6):
        super().__init__()
        self.inp = nn.Linear(source, dim)
        self.rotate = Rotation(dim)
        self.out = nn.Linear(dim, target)

    def forward(self, x):
        return self.out(torch.tanh(self.rotate(self.inp(x))))


torch.manual_seed(0)
model = AlignmentNet()
example_inputs = (torch.randn(8, 10),)
