"""Plain attention whose key projection has a bias, as most code has it.

Source: https://github.com/microsoft/unilm/issues/510
Odd: the bias of the keys never gets a real gradient, as softmax does not see a shift of all keys.
"""

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)
        self.scale = dim**-0.5

    def forward(self, x):
        q, k, v = self.query(x), self.key(x), self.value(x)
        weights = torch.softmax(q @ k.transpose(1, 2) * self.scale, dim=-1)
        return self.out(weights @ v)


def example_inputs():
    return (torch.randn(4, 6, 16),)
