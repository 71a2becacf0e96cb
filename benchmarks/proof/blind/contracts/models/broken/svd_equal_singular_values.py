r"""Linear map that always stays orthogonal.

Source: https://docs.pytorch.org/docs/stable/generated/torch.linalg.svd.html
Fault: The gradient through U and V of an SVD is taken where all singular values are equal
    (identity start), so it is NaN or infinite.
Cause: svd|singular value|degenerat|repeated|nan|equal
    |(huge|explod|large|unstable|infinit)\w*.*gradient|gradient.*(huge|explod|large|unstable|nan)
    |identity
"""

import torch
import torch.nn as nn


class Rotation(nn.Module):
    """Linear map that always stays orthogonal."""

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.eye(dim))

    def matrix(self):
        u, _, vh = torch.linalg.svd(self.weight)
        return u @ vh

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
