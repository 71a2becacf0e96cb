"""The cases of a product that run on a push: each combination appears, the same cases each time."""

from __future__ import annotations

import ast
import itertools
import random
from types import SimpleNamespace

import pytest

from tests.conftest import ROOT
from tests.products import LISTS, NIGHTLY, PRODUCTS, Push, covering, every

SIZES = [(2, 190), (14, 21), (4, 17, 2), (5, 5, 5, 5), (3, 3, 3), (1, 7), (6,)]


def combinations(cases, strength):
    """Each combination of values at `strength` places, written without what `covering` computes."""
    return {
        tuple((place, case[place]) for place in places)
        for case in cases
        for places in itertools.combinations(range(len(case)), strength)
    }


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("strength", [1, 2])
def test_every_combination_is_covered(sizes, strength):
    cases = [*itertools.product(*map(range, sizes))]
    strength = min(strength, len(sizes))
    kept = [cases[index] for index in covering(cases, strength)]
    assert combinations(kept, strength) == combinations(cases, strength)
    least = max(map(len, map(set, zip(*cases, strict=True))))
    if strength == 1:
        assert len(kept) == least
    else:
        assert len(kept) <= 2 * sorted(sizes)[-1] * sorted(sizes)[-2]


def test_combinations_that_no_case_has_are_not_asked_for():
    rows = [*itertools.product(range(6), range(5), range(4))]
    cases = random.Random(1).sample(rows, 40)
    kept = [cases[index] for index in covering(cases, 2)]
    assert combinations(kept, 2) == combinations(cases, 2)
    assert len(kept) < len(cases)


def test_a_parameter_of_two_values_alternates():
    cases = [*itertools.product(range(100), ("train", "eval"))]
    modes = [cases[index][1] for index in covering(cases, 1)]
    assert (len(modes), modes.count("train")) == (100, 50)


def test_one_case_is_the_first():
    assert covering([*itertools.product(range(3), range(3))], 0) == [0]
    assert covering([], 0) == covering([], 2) == []


def test_every_test_of_the_tables_is_there():
    for name in [*PRODUCTS, *LISTS, *NIGHTLY]:
        path, _, test = name.partition("::")
        names = [one.name for one in ast.walk(ast.parse((ROOT / path).read_text()))
                 if isinstance(one, ast.FunctionDef)]  # fmt: skip
        assert test in names, name
    names = [*PRODUCTS, *LISTS, *NIGHTLY]
    assert len(names) == len(set(names))


def test_the_order_of_hooks_is_held_whole_on_a_push():
    assert not [
        name for name in [*PRODUCTS, *LISTS, *NIGHTLY] if name.startswith("tests/hooks/test_order")
    ]


def item(name, **params):
    """As much of a test as its selection reads."""
    indices = {key: id(value) for key, value in params.items()}
    found = SimpleNamespace(nodeid=f"tests/{name}[{params}]" if params else f"tests/{name}")
    if params:
        found.callspec = SimpleNamespace(params=params, indices=indices)
    return found


LINKED, PLAIN = object(), object()
BOTH = [item("a.py::both", a=a, b=b) for a in range(4) for b in (LINKED, PLAIN)]
NIGHT, OTHER = item("a.py::night"), item("a.py::other")


@pytest.mark.parametrize(
    ("items", "arguments", "left"),
    [
        ([*BOTH, NIGHT, OTHER], ["tests"], [BOTH[0], BOTH[3], BOTH[4], BOTH[7], OTHER]),
        ([*BOTH[1::2], OTHER], ["tests"], [*BOTH[1::2], OTHER]),  # as `-k` selects
        ([BOTH[1], OTHER], ["tests"], [BOTH[1], OTHER]),
        ([NIGHT], ["tests/a.py::night"], [NIGHT]),
    ],
    ids=["all", "of one value", "one case", "a test of the night"],
)
def test_a_session_runs_a_part_of_what_it_selects(items, arguments, left, monkeypatch):
    monkeypatch.setitem(PRODUCTS, "tests/a.py::both", 1)
    monkeypatch.setitem(NIGHTLY, "tests/a.py::night", "other")
    dropped, kept = [], [*items]
    hook = SimpleNamespace(pytest_deselected=lambda items: dropped.extend(items))
    config = SimpleNamespace(args=arguments, hook=hook)
    Push().pytest_collection_modifyitems(config, kept)
    assert kept == left
    assert [one for one in items if one not in left] == dropped


def test_a_push_runs_the_first_of_each_n_cases_of_a_list():
    ones = [item("t.py::test_list", case=i) for i in range(7)]
    other = [item("t.py::test_other", case=i) for i in range(3)]
    assert every([*ones, *other], {"tests/t.py::test_list": 3}) == [*ones[::3], *other]
