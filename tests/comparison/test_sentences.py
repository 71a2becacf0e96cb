"""The sentence about the first difference: which call, by how much, and whose code is the cause."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

import hookcli
from hookcli.comparison.diff import CallRef, TensorDiff
from hookcli.comparison.first_difference import by_how_much, figure, named

X = torch.linspace(-1, 1, 16).reshape(4, 4)


class Net(nn.Module):
    """a, then b; `at` names the place where `change` is applied to a value."""

    def __init__(self, at="", change=lambda x: x * 2):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)
        self.at, self.change = at, change

    def value(self, at, x):
        return self.change(x) if at == self.at else x

    def forward(self, x):
        x = self.a(self.value("input of a", x))
        x = self.b(self.value("input of b", x))
        x = self.a(self.value("second input of a", x))
        return self.value("output", x)


class Outer(nn.Module):
    def __init__(self, **more):
        super().__init__()
        self.net = Net(**more)

    def forward(self, x):
        return self.net(x)


class Helped(Net):
    """With a layer between a and b that the other side lacks."""

    def __init__(self, count, **more):
        super().__init__(**more)
        for number in range(count):
            self.add_module(f"extra{number}", nn.Identity())
        self.count = count

    def value(self, at, x):
        if at == "input of b":
            for number in range(self.count):
                x = getattr(self, f"extra{number}")(x)
        return super().value(at, x)


def first(a, b):
    found = hookcli.diff(a, b, X)
    assert found.verdict == "different"
    return found.first


@pytest.mark.parametrize(
    ("at", "fault", "sentence"),
    [
        ("input of a", "code",
         "all earlier calls agree, but the input of a (Linear) differs by 1 of its norm: the cause "
         "is in the code of the model (Net)"),
        ("input of b", "code",
         "all earlier calls agree, but the input of b (Linear) differs by 1 of its norm: the cause "
         "is in the code of the model (Net) after a (Linear)"),
        ("second input of a", "code",
         "all earlier calls agree, but the input of a (Linear), call 1 differs by 1 of its norm: "
         "the cause is in the code of the model (Net) after b (Linear)"),
        ("output", "output",
         "the inputs of the model (Net) agree, but its output differs by 1 of its norm: the cause "
         "is in its own code after a (Linear), call 1"),
    ],
)  # fmt: skip
def test_the_code_between_two_calls_is_the_cause(at, fault, sentence):
    found = first(Net(), Net(at))
    assert (found.fault, found.sentence) == (fault, sentence)
    assert found.relative == pytest.approx(1)
    inner = first(Outer(), Outer(at=at))
    nested = re.sub(r"\b([ab]) \(", r"net.\1 (", sentence)
    assert inner.sentence == nested.replace("the model (Net)", "net (Net)")


def test_the_parameters_that_differ_are_named_with_their_call():
    other = Net()
    other.b.weight.data *= 3
    found = first(Net(), other)
    assert found.sentence.startswith("the inputs of b (Linear) agree, but its output differs by ")
    assert found.sentence.endswith(" of its norm (b.weight differs)")
    other.b.bias.data *= 3
    assert first(Net(), other).sentence.endswith(" of its norm (b.weight, b.bias differ)")
    assert (found.fault, found.a.name, found.b.name) == ("output", "b", "b")
    assert (found.within, found.after) == (None, None)


@pytest.mark.parametrize("at", ["input of b"])
def test_calls_without_a_counterpart_in_between_are_named(at):
    for a, b, side in ((Net(), Helped(1, at=at), "B"), (Helped(1), Net(at), "A")):
        assert first(a, b).sentence.endswith(
            "the cause is in the code of "
            + (f"the model ({type(a).__name__}) after a (Linear); ")
            + f"calls in between without a counterpart: extra0 (Identity) in {side}"
        )
    sentence = first(Net(), Helped(5, at=at)).sentence
    assert sentence.endswith(
        "counterpart: extra0 (Identity) in B, extra1 (Identity) in B, extra2 (Identity) in B and "
        "2 more"
    )
    assert "counterpart" not in first(Helped(2), Helped(2, at="output")).sentence


def call(name, number=0):
    return CallRef(3, name, number, "Block", None)


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("h.0", 0, "h.0 (Block)"), ("h.0", 2, "h.0 (Block), call 2"), ("", 0, "the model (Block)"),
        (None, 0, "an unregistered Block"), (None, 1, "an unregistered Block, call 1"),
    ],
)  # fmt: skip
def test_the_name_of_a_call(name, number, text):
    assert named(call(name, number)) == text


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ("shape", "has shape [2, *] in A and [3] in B"),
        ("dtype", "is float32 in A and int64 in B"),
        ("structure", "exists only in A"),
        ("nonfinite", "is NaN or infinite in different places"),
        ("sketch", "differs by 0.123 of its norm"),
    ],
)
def test_the_size_of_a_difference_in_words(how, text):
    shapes, dtypes = ((2, None), (3,)), ("float32", "int64")
    row = TensorDiff("", "", shapes, dtypes, 0.12345, 0.1, how, "different")
    assert by_how_much(row) == text
    if how == "structure":
        row = TensorDiff(None, "", (None, (3,)), dtypes, None, None, how, "different")
        assert by_how_much(row) == "exists only in B"


def test_a_figure_has_three_digits():
    assert [figure(value) for value in (0.12345, 1.0, "inf", None)] == ["0.123", "1", "inf", "?"]
