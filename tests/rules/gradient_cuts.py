"""Functions that cut a gradient, each with the operator and the line that a report must name."""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import nn
from torch.nn import functional as F


class NotDifferentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad


class ReturnsNone(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return None


def detach(x):
    return x.detach()


def detach_in_place(x):
    return (x * 1).detach_()


def data(x):
    return x.data + 1


def no_grad(x):
    with torch.no_grad():
        x = x * 2
        return x + 1


@torch.no_grad()
def decorated(x):
    return x * 2


def switched_off(x):
    with torch.set_grad_enabled(False):
        return x.tanh()


def inference_mode(x):
    with torch.inference_mode():
        y = x * 2
    return y.clone()


def integers(x):
    return x.mul(10).long().float()


def argmax(x):
    return F.one_hot(x.argmax(-1), x.shape[-1]).float()


def comparison(x):
    return (x > 0).float()


def numpy(x):
    return torch.from_numpy(x.detach().numpy() * 2)


def numbers(x):
    return torch.tensor(x.tolist())


def copied(x):
    return torch.as_tensor(x.detach().numpy() * 2)


def marked(x):
    return NotDifferentiable.apply(x)


def swallowed(x):
    return ReturnsNone.apply(x)


def view_without_grad(x):
    with torch.no_grad():
        part = x[:]
    return part * 2


def data_written(x):
    y = torch.zeros_like(x)
    y.data.copy_(x)
    return y


def row_of_data_written(x):
    y = torch.zeros_like(x)
    y.detach()[0].copy_(x[0])
    return y


def item_without_grad(x):
    y = torch.zeros_like(x)
    with torch.no_grad():
        y[:, 0] = x[:, 0]
    return y


# The operator that is named, and how many lines below the first line of the function it is.
CUTS = {
    detach: ("detach", 1),
    detach_in_place: ("detach_", 1),
    data: ("data", 1),
    no_grad: ("no_grad", 1),
    decorated: ("no_grad", 0),
    switched_off: ("no_grad", 1),
    view_without_grad: ("no_grad", 1),
    data_written: ("data", 2),
    row_of_data_written: ("data", 2),
    item_without_grad: ("no_grad", 2),
    inference_mode: ("inference_mode", 1),
    integers: ("long", 1),
    argmax: ("argmax", 1),
    comparison: ("gt", 1),
    numpy: ("detach", 1),
    numbers: ("tolist", 1),
    copied: ("detach", 1),
    marked: ("NotDifferentiable", 1),
    swallowed: ("ReturnsNone", 1),
}


def line_of(cut):
    code = getattr(cut, "__wrapped__", cut).__code__
    return code.co_firstlineno + CUTS[cut][1]


class Layer(nn.Module):
    """A linear layer whose output a function changes; with `around`, it goes past that too."""

    def __init__(self, width, change, *, around):
        super().__init__()
        self.fc = nn.Linear(width, width)
        self.change, self.around = change, around

    def forward(self, x):
        y = self.fc(x)
        return y + self.change(y) if self.around else self.change(y)


class Chain(nn.Module):
    """Layers one after the other; the change is made in the layer at `at`."""

    def __init__(self, count, at, change, *, around=False, under=nullcontext):
        super().__init__()
        torch.manual_seed(count)
        same = lambda x: x  # noqa: E731
        self.layers = nn.ModuleList(
            Layer(4, change if i == at else same, around=around and i == at) for i in range(count)
        )
        self.head = nn.Linear(4, 3)
        self.under = under

    def forward(self, x):
        with self.under():
            for layer in self.layers:
                x = layer(x)
        return self.head(x)
