"""A backward that fails because a tensor was changed in place: the line that did it is named."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch import nn

import hookcli


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.act = nn.Linear(4, 8), nn.Sigmoid()
        self.relu, self.last = nn.ReLU(inplace=True), nn.Linear(8, 8)


class Multiplied(Base):
    def forward(self, x):
        h = self.act(self.first(x))
        out = self.last(h)
        h.mul_(2)  # change
        return out + h


class InLayer(Base):
    def forward(self, x):
        h = self.act(self.first(x))
        return self.last(self.relu(h))  # change


class Elements(Base):
    def forward(self, x):
        h = self.first(x).exp()
        out = self.last(h)
        h[:, 0] = 0  # change
        return out


class View(Base):
    def forward(self, x):
        h = self.act(self.first(x))
        out = self.last(h)
        half = h[:, :4]
        half += 1  # change
        return out


class Twice(Base):
    """The first change is before anything is saved, the last one after what is broken."""

    def forward(self, x):
        h = self.first(x)
        h += 1
        out = self.last(h)
        h -= 1  # change
        h *= 2
        return out


class OfParameter(Base):
    def forward(self, x):
        out = self.last(self.act(self.first(x)))
        with torch.no_grad():
            self.last.weight.clamp_(-1, 1)  # change
        return out


MODELS = [Multiplied, InLayer, Elements, View, Twice, OfParameter]


@pytest.mark.parametrize("kind", MODELS)
def test_the_line_that_changes_the_tensor_is_named(kind):
    torch.manual_seed(0)
    model, x = kind(), torch.randn(2, 4)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        model(x).sum().backward()
    report = hookcli.grads(model, x)
    lines, first = inspect.getsourcelines(kind)
    (number,) = [first + i for i, line in enumerate(lines) if line.endswith("# change\n")]
    assert report.error.phase == "backward"
    assert report.error.place == f"tests/engine/test_changed_in_place.py:{number}"
    assert "here changes a tensor that the backward of" in report.error.hint


class OfTwoTensors(Base):
    """Two tensors of one shape and line are changed: PyTorch tells one of them."""

    def forward(self, x):
        a = self.first(x)
        b, c = (a + 1).exp(), (a + 2).exp()
        b.mul_(2)
        c.mul_(3)
        return b + c


class Hidden(Base):
    """The change is not one of a call that can be seen."""

    def forward(self, x):
        h = self.act(self.first(x))
        out = self.last(h)
        torch._C._increment_version([h])
        return out


@pytest.mark.parametrize("kind", [OfTwoTensors, Hidden])
def test_a_line_that_is_not_known_is_not_named(kind):
    report = hookcli.grads(kind(), torch.randn(2, 4))
    assert "modified by an inplace operation" in report.error.message
    assert report.error.hint is None
