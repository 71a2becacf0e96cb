"""Models so small that their gradients can be worked out in the head."""

from __future__ import annotations

import torch
from torch import nn


class Weights(nn.Module):
    """Three weights that are the output: their gradient is what backward starts from."""

    example_inputs = ()

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(3))

    def forward(self) -> torch.Tensor:
        return self.weight


class Times(nn.Module):
    """The input times a number."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.factor


class Chain(nn.Module):
    """`weight` is a leaf; `twice` makes an intermediate of it, and `thrice` the output."""

    example_inputs = ()

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.twice = Times(2)
        self.thrice = Times(3)

    def forward(self) -> torch.Tensor:
        return self.thrice(self.twice(self.weight))


class TwoLayers(nn.Module):
    """`first` and `second` without a bias, all their weights 1. For x = [1, 2] it gives [6, 6]."""

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
    """e = c + d: autograd hands the gradient of e to c and to d, one tensor for both."""

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
