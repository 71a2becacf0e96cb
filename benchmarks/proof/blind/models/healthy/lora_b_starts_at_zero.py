"""A linear layer with a LoRA adapter on a frozen weight.

Source: https://github.com/microsoft/LoRA/issues/98
    https://github.com/rasbt/LLMs-from-scratch/pull/166
Odd: A has no gradient at the first step because B is zero; B moves first and A follows.
"""

import math

import torch
from torch import nn


class LoRALinear(nn.Module):
    def __init__(self, in_dim=12, out_dim=6, rank=4, alpha=8):
        super().__init__()
        self.linear = nn.Linear(in_dim, out_dim)
        self.linear.requires_grad_(False)
        self.A = nn.Parameter(torch.empty(in_dim, rank))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.B = nn.Parameter(torch.zeros(rank, out_dim))
        self.alpha = alpha

    def forward(self, x):
        return self.linear(x) + self.alpha * (x @ self.A @ self.B)


def example_inputs():
    return (torch.randn(16, 12),)
