"""Small modules of which each makes a NaN or an Inf on the line with the comment `here`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # its usual name
from torch import nn


class Fault(NamedTuple):
    """What the first operator is, and why; in backward also its node."""

    function: Callable[[torch.Tensor], torch.Tensor]
    operator: str
    reason: str | None
    node: str | None = None
    dtype: torch.dtype = torch.float32

    @property
    def line(self) -> int:
        """The line of the comment."""
        source = Inverse.backward if self.node == "InverseBackward" else self.function
        lines, first = inspect.getsourcelines(source)
        return first + next(i for i, line in enumerate(lines) if line.rstrip().endswith("# here"))


class Part(nn.Module):
    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


class Net(nn.Module):
    """A faulty part between two layers."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a = nn.Linear(8, 8)
        self.part = Part(function)
        self.b = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.b(self.part(self.a(x)))


def batch(dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.linspace(-1, 1, 24, dtype=dtype).view(3, 8)


FORWARD: dict[str, Fault] = {}
BACKWARD: dict[str, Fault] = {}


def forward(operator: str, reason: str | None, dtype: torch.dtype = torch.float32) -> Any:
    def add(function: Any) -> Any:
        FORWARD[function.__name__] = Fault(function, operator, reason, dtype=dtype)
        return function

    return add


def backward(operator: str, reason: str | None, node: str | None) -> Any:
    def add(function: Any) -> Any:
        BACKWARD[function.__name__] = Fault(function, operator, reason, node)
        return function

    return add


@forward("torch.div", "zero_by_zero")
def zero_by_zero(x):
    zero = x - x
    return zero / (x - x)  # here


@forward("torch.div", "by_zero")
def by_zero(x):
    scale = x.relu() * 0
    return (x.abs() + 1) / scale  # here


@forward("torch.div", "by_zero")
def by_the_number_zero(x):
    return (x.abs() + 1) / 0.0  # here


@forward("Tensor.div_", "zero_by_zero")
def in_place(x):
    y = x * 0
    y.div_(x * 0)  # here
    return y


@forward("torch.log", "log_of_zero")
def log_of_zero_times_zero(x):
    y = x.relu() * 0
    y = y.log()  # here
    return y * 0


@forward("torch.log", "log_of_negative")
def log_of_negative(x):
    return torch.log(x - 5)  # here


@forward("torch.log1p", "log_of_negative")
def log1p_of_negative(x):
    return torch.log1p(x - 5)  # here


@forward("torch.sqrt", "root_of_negative")
def root_of_negative(x):
    y = x - 5
    return y.sqrt()  # here


@forward("torch.rsqrt", "root_of_zero")
def reciprocal_root_of_zero(x):
    return torch.rsqrt(x * 0)  # here


@forward("torch.pow", "power_of_negative")
def power_of_negative(x):
    return (x - 5) ** 0.7  # here


@forward("torch.pow", "negative_power_of_zero")
def negative_power_of_zero(x):
    return torch.pow(x * 0, -2)  # here


@forward("torch.exp", "exp_overflow")
def exp_of_large(x):
    y = x.abs() * 0 + 100
    return torch.exp(y)  # here


@forward("torch.mul", "overflow", torch.float16)
def overflow_of_half(x):
    y = x * 0 + 300
    return y * y  # here


@forward("torch.mul", "overflow", torch.bfloat16)
def overflow_of_bfloat(x):
    y = x * 0 + 1e30
    return y * y  # here


@forward("torch.matmul", "overflow", torch.float16)
def overflow_of_a_product_of_matrices(x):
    y = x * 0 + 200
    return y @ (y.T @ x * 0 + 200).mT[:, :8] if y.dim() == 1 else (y @ y.mT)[:, :1] + x  # here


@forward("Tensor.to", "cast_overflow")
def cast_to_half(x):
    y = x * 0 + 70_000
    return y.half().float()  # here


@forward("torch.exp", "exp_overflow")
def inf_minus_inf(x):
    y = (x * 0 + 90).exp()  # here
    return y - y


@forward("torch.softmax", "all_masked")
def softmax_of_a_masked_row(x):
    y = x.masked_fill(torch.ones_like(x, dtype=torch.bool), float("-inf"))
    return y.softmax(dim=-1)  # here


@forward("torch.mul", "zero_times_inf")
def mask_times_zero(x):
    y = torch.full_like(x, float("inf"))
    return x * 0 * y  # here


@forward("torch.acos", "domain")
def acos_outside(x):
    return torch.acos(x + 3)  # here


@forward("torch.atanh", "pole")
def atanh_of_one(x):
    return torch.atanh(x * 0 + 1)  # here


@forward("torch.std", "one_element")
def std_of_one_element(x):
    y = x[:, :1].std(dim=1, keepdim=True)  # here
    return x + y


@forward("torch.mean", "empty")
def mean_of_nothing(x):
    return x + x[x > 1e9].mean()  # here


@forward("torch.nn.functional.nll_loss", "no_target")
def all_targets_ignored(x):
    loss = F.cross_entropy(x, torch.full((3,), -100))  # here
    return x + loss


@forward("torch.nn.functional.layer_norm", "zero_variance")
def variance_of_zero(x):
    return F.layer_norm(x * 0, (8,), eps=0.0)  # here


@forward("torch.prod", "overflow")
def overflow_of_a_reduction(x):
    y = x * 0 + 1e10
    return x + y.prod(dim=1, keepdim=True)  # here


@backward("torch.sqrt", "gradient_of_root", "SqrtBackward0")
def gradient_of_root(x):
    y = x * 0
    return x + y.sqrt()  # here


@backward("torch.pow", "gradient_of_power", "PowBackward0")
def gradient_of_power(x):
    y = (x * 0).abs()
    return x + y**0.5  # here


@backward("torch.div", "gradient_of_division", "DivBackward0")
def division_behind_where(x):
    zero = x.relu() * 0
    y = x * 0 / (zero + zero)  # here
    return torch.where(zero > 1, y, x)


@backward("torch.log", "gradient_of_log", "LogBackward0")
def log_behind_where(x):
    zero = x * 0
    y = zero.log()  # here
    return torch.where(zero > 1, y, x)


@backward("torch.acos", "gradient_at_edge", "AcosBackward0")
def acos_of_one(x):
    y = x * 0 + 1
    return x + torch.acos(y)  # here


@backward("torch.asin", "gradient_at_edge", "AsinBackward0")
def asin_of_minus_one(x):
    y = x * 0 - 1
    return x + torch.asin(y)  # here


@backward("torch.pow", "gradient_of_power", "PowBackward0")
def power_of_a_square(x):
    y = (x * 0).pow(2).sum(dim=1, keepdim=True)
    return x + y.pow(0.25)  # here


@backward("torch.rsqrt", "root_of_zero", None)
def root_behind_where(x):
    zero = x.relu() * 0
    y = zero.rsqrt()  # here
    return torch.where(zero > 1, y, x)


@backward("torch.exp", "exp_overflow", None)
def exp_behind_where(x):
    y = (x * 0 + 100).exp()  # here
    return torch.where(x > 1e9, y, x)


@backward("torch.linalg.eigh", "gradient_of_equal_values", "LinalgEighBackward0")
def equal_eigenvalues(x):
    matrix = torch.eye(3) + (x @ x.mT) * 0
    _, vectors = torch.linalg.eigh(matrix)  # here
    return x + vectors.sum()


class Inverse(torch.autograd.Function):
    """A function whose own backward divides by 0."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad / (x * 0)  # here


@backward("torch.div", "by_zero", "InverseBackward")
def own_backward(x):
    return Inverse.apply(x) + x


@backward("torch.mul", "overflow", "MulBackward0")
def gradient_overflows(x):
    y = x * 0
    z = y * 1e30  # here
    return x + z * 1e30
