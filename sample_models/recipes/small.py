"""Models so small that their gradients can be calculated by hand."""

from __future__ import annotations

import torch
from torch import nn


class Weights(nn.Module):
    """The output is the three weights: their gradient is the one that backward starts from."""

    example_inputs = ()

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))

    def forward(self) -> torch.Tensor:
        return self.weight


class Times(nn.Module):
    """Multiplies the input by a number."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


class Chain(nn.Module):
    """`weight` is a leaf, the output of `twice` an intermediate, that of `thrice` the result."""

    example_inputs = ()

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.twice = Times(2)
        self.thrice = Times(3)

    def forward(self) -> torch.Tensor:
        return self.thrice(self.twice(self.weight))


class TwoLayers(nn.Module):
    """`first` and `second` have no bias; all weights are 1. For x = [1, 2] the output is [6, 6]."""

    example_inputs = (torch.tensor([[1.0, 2.0]]),)

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.second = nn.Linear(2, 2, bias=False)
        for layer in (self.first, self.second):
            nn.init.ones_(layer.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x))


class Sum(nn.Module):
    """e = c + d: autograd passes the gradient of e to c and d, the same tensor to both."""

    example_inputs = ()

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(torch.zeros(3))
        self.b = nn.Parameter(torch.zeros(3))
        self.c = Times(1)
        self.d = Times(1)

    def forward(self) -> torch.Tensor:
        c = self.c(self.a)
        d = self.d(self.b)
        return c + d
