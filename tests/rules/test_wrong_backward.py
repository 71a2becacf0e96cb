"""Backwards of custom Functions: the wrong ones are found, the deliberate ones are not."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import hookcli

X = torch.randn(4, 8, generator=torch.Generator().manual_seed(1))


def function(forward, backward):
    """A Function of one tensor, of which backward gets the gradient and the input."""

    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return backward(grad, x)

    return Made


class Net(nn.Module):
    def __init__(self, function):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.function = nn.Linear(8, 8), nn.Linear(8, 2), function

    def forward(self, x):
        return self.b(self.function.apply(self.a(x)))


def swish(x):
    return x * torch.sigmoid(x)


def slope_of_swish(grad, x):
    s = torch.sigmoid(x)
    return grad * (s + x * s * (1 - s))


def found(made):
    report = hookcli.check(Net(made), inputs=X)
    return [row for row in report.diagnoses if row.cause == "wrong_backward"]


WRONG = {
    "a term is missing": (swish, lambda g, x: g * torch.sigmoid(x) * (1 - torch.sigmoid(x))),
    "of the result, not the input": (torch.exp, lambda g, x: g * x),
    "a sign in half of it": (lambda x: x**3, lambda g, x: 3 * g * x * x.abs()),
    "summed over the wrong dimension": (
        lambda x: x - x.mean(1, keepdim=True), lambda g, x: g - g.mean(0, keepdim=True)
    ),
}  # fmt: skip
RIGHT = {
    "the derivative": (swish, slope_of_swish),
    "gradient reversal": (lambda x: x.view_as(x), lambda g, x: -g),
    "scaled": (lambda x: x**2, lambda g, x: 0.1 * g * x),
    "clipped": (lambda x: x.view_as(x), lambda g, x: g.clamp(-1e-3, 1e-3)),
    "straight through": (torch.round, lambda g, x: g),
    "surrogate": (lambda x: (x > 0).to(x.dtype), lambda g, x: g / (1 + x.abs()) ** 2),
    "straight through a range": (
        lambda x: (x * 4).round().clamp(-2, 2) / 4, lambda g, x: g * (x.abs() < 0.5)
    ),
    "guided": (torch.sin, lambda g, x: g.clamp(min=0) * (x > 0)),
    "exp without overflow": (torch.exp, lambda g, x: g * x.clamp(max=15).exp()),
    "at a corner": (torch.relu, lambda g, x: g * (x > 0)),
    "float32 only": (
        lambda x: (x.float() @ torch.eye(8)).to(x.dtype), lambda g, x: g.float() @ torch.eye(8)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_backward_is_found(name):
    (row,) = found(function(*WRONG[name]))
    assert row.sentence.startswith("the backward of `Made` is not the derivative of its forward")
    assert row.place.startswith("tests/rules/test_wrong_backward.py:")


@pytest.mark.parametrize("name", RIGHT)
def test_a_backward_that_is_right_or_deliberate_passes(name):
    assert found(function(*RIGHT[name])) == []
