"""The sizes that an exported program expects: what fits, what does not, and what is made."""

from __future__ import annotations

import math

import pytest
import sympy
import torch

from hookcli.errors import ModelError
from hookcli.models.exported.shape_checker import Checker, Dim, ExpectedInput, Range

S, T = sympy.Symbol("s0", integer=True), sympy.Symbol("s1", integer=True)
RANGES = {S: Range(2, 64), T: Range(None, None)}
X = ExpectedInput("x", (Dim(S), Dim(3)), torch.float32)
Y = ExpectedInput("y", (Dim(S), Dim(2 * S), Dim(T)), torch.float32)
FLAG = ExpectedInput("flag", None, constant=True)


def check(expected, *leaves):
    Checker(tuple(expected), RANGES).check(list(leaves))


def test_a_batch_that_fits_is_accepted():
    check([X, Y, FLAG], torch.ones(4, 3), torch.ones(4, 8, 7), True)
    nan = ExpectedInput("scale", None, constant=math.nan)
    check([nan], math.nan)


@pytest.mark.parametrize(
    ("expected", "leaves", "message"),
    [
        ([X], (3.0,), "x must be a tensor, got 3.0"),
        ([X], (torch.ones(3),), "x must have 2 dimensions (x [s0, 3]), got 1"),
        ([X], (torch.ones(4, 5),), "dimension 1 of x must be 3, which the export fixed, got 5"),
        ([X], (torch.ones(65, 3),), "dimension 0 of x (s0) must be 2 to 64, got 65"),
        (
            [X, Y], (torch.ones(4, 3), torch.ones(5, 10, 1)),
            "dimension 0 of x and dimension 0 of y must be equal (s0), got 4 and 5",
        ),
        (
            [X, Y], (torch.ones(4, 3), torch.ones(4, 9, 1)),
            "dimension 1 of y must be 2*s0 = 8, got 9",
        ),
        ([FLAG], (False,), "flag must be True, which the export fixed, got False"),
        ([FLAG], (1,), "flag must be True, which the export fixed, got 1"),
        (
            [FLAG], (torch.ones(2, 3),),
            "flag must be True, which the export fixed, got a tensor (2, 3)",
        ),
    ],
)  # fmt: skip
def test_a_batch_that_does_not_fit_is_told_at_its_dimension(expected, leaves, message):
    with pytest.raises(ModelError) as caught:
        check(expected, *leaves)
    assert caught.value.message == message


def test_an_expression_of_an_unknown_size_is_not_compared():
    check([ExpectedInput("y", (Dim(2 * T),), torch.float32)], torch.ones(9))


@pytest.mark.parametrize(
    ("limits", "text"),
    [((3, 3), "3"), ((None, 5), "0 to 5"), ((2, None), "2 or more"), ((2, 5), "2 to 5")],
)
def test_a_range_in_words(limits, text):
    assert str(Range(*limits)) == text


@pytest.mark.parametrize(
    ("dim", "ranges", "size"),
    [
        (Dim(3), {}, 3),
        (Dim(S), {}, 2),
        (Dim(S), {S: Range(8, None)}, 8),
        (Dim(S), {S: Range(1, 1)}, 1),
        (Dim(S), {S: Range(None, None)}, 2),
        (Dim(2 * S + T), {S: Range(4, 9)}, 10),
    ],
)
def test_the_smallest_size_is_allowed(dim, ranges, size):
    assert Checker((), ranges).smallest(dim) == size


def test_dynamic_dimensions_are_listed_with_their_limits():
    checker = Checker((X, Y, FLAG), {S: Range(2, 64)})
    assert checker.dynamic() == (
        "x.shape[0] = y.shape[0] = s0 (2 to 64); y.shape[1] = 2*s0; y.shape[2] = s1"
    )
    assert checker.describe(FLAG) == "flag = True"
    fixed = Checker((ExpectedInput("x", (Dim(3),)), FLAG), {})
    assert fixed.dynamic() is None
