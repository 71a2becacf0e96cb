"""The statistics of series of steps, held against counting all cases."""

from __future__ import annotations

import math
from itertools import combinations, product
from statistics import pstdev
from types import SimpleNamespace

import pytest

from hookcli.rules.training.series import (
    below,
    cancelled,
    deviation,
    middle,
    series,
    statuses,
    thirds,
)


def rows(*values):
    return [*enumerate(map(float, values))]


@pytest.mark.parametrize(
    ("later", "earlier"), [((1,), (2,)), ((2,), (1,)), ((1, 2, 2), (2, 3, 0, 2)), ((5, 5), (5, 5))]
)
def test_the_share_of_pairs_in_which_a_later_value_is_below(later, earlier):
    wins = sum((a < b) + (a == b) / 2 for a, b in product(later, earlier))
    assert below(rows(*later), rows(*earlier)) == wins / (len(later) * len(earlier))


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 3), (2, 3), (4, 4)])
def test_its_deviation_is_that_over_all_orders_of_the_values(first, second):
    ranks = range(first + second)
    shares = [
        below(rows(*chosen), rows(*(rank for rank in ranks if rank not in chosen)))
        for chosen in combinations(ranks, first)
    ]
    assert deviation(first, second) == pytest.approx(pstdev(shares))


def test_the_median_and_the_thirds():
    assert middle(rows(3, 1, 2)) == 2
    assert thirds(rows(1)) == (rows(1), rows(1))
    assert thirds(rows(*range(7))) == (rows(*range(7))[:2], rows(*range(7))[5:])
    assert thirds(rows(*range(9))) == (rows(*range(9))[:3], rows(*range(9))[6:])


def step(number, loss, *, skipped=False, grad_norm=1.0):
    return SimpleNamespace(step=number, loss=loss, skipped=skipped, grad_norm=grad_norm)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([step(0, 1.0), step(1, 2.0)], [(0, 1.0), (1, 2.0)]),
        ([step(0, 1.0), step(1, None), step(2, 3)], [(0, 1.0), (2, 3.0)]),
        ([step(0, 1.0), step(1, 2.0, skipped=True), step(2, 3.0)], [(0, 1.0), (2, 3.0)]),
        ([step(0, 1.0), step(1, "nan"), step(2, 3.0)], [(0, 1.0)]),
        ([step(0, 1.0), step(1, 2.0, grad_norm="inf"), step(2, 3.0)], [(0, 1.0)]),
        ([step(0, 1.0), step(1, "inf", skipped=True), step(2, 3.0)], [(0, 1.0), (2, 3.0)]),
    ],
)
def test_a_series_ends_before_the_first_step_that_is_not_finite(steps, expected):
    assert series(SimpleNamespace(steps=steps), "loss") == expected


def parameter(name, norm, numel=4, dtype="float32", **more):
    return SimpleNamespace(name=name, grad={"norm": norm}, numel=numel, dtype=dtype, **more)


@pytest.mark.parametrize(
    ("norm", "numel", "found"),
    [(1e-12, 4, True), (1e-2, 4, False), (0.0, 4, False), ("nan", 4, False), (1e-12, 0, False)],
)
def test_a_gradient_that_cancels_is_far_below_that_of_its_module(norm, numel, found):
    report = SimpleNamespace(
        parameters=[parameter("fc.weight", 2.0), parameter("fc.bias", norm, numel)]
    )
    assert cancelled(report) == ({"fc.bias"} if found else set())
    alone = SimpleNamespace(
        parameters=[parameter("other.weight", 2.0), parameter("fc.bias", norm, numel)]
    )
    assert cancelled(alone) == set()


def test_the_size_of_an_element_counts_and_not_of_the_tensor():
    large = 10**16  # a norm of 1 over so many elements is 1e-8 for each
    report = SimpleNamespace(
        parameters=[parameter("fc.weight", 1e-8 * math.sqrt(4)), parameter("fc.bias", 1.0, large)]
    )
    assert cancelled(report) == set()


def test_the_statuses_of_the_steps_or_of_the_run():
    entries = [{"step": 1, "status": "ok"}, {"step": 2}, {"step": 3, "status": "zero"}]
    several = SimpleNamespace(steps=[1], numbered_steps=lambda: entries, status="ok")
    assert statuses(several) == [(1, "ok"), (3, "zero")]
    assert statuses(SimpleNamespace(steps=[], status="frozen")) == [(0, "frozen")]
    assert statuses(SimpleNamespace(steps=[], status=None)) == []
