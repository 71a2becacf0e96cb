"""The first call that differs is run again and compared exactly; then, if it agrees, the next."""

from __future__ import annotations

import pytest

from hookcli.comparison.diff import ExactDiff
from hookcli.comparison.locate import locate
from hookcli.comparison.tolerance import Tolerances
from tests.comparison.reports import call, report

NAMES = [f"l{i}" for i in range(6)]


def net(out, *before):
    return report(*before, *(call(name, (1,), (out,)) for name in NAMES))


def located(a, b, *relative, limit=None):
    """Return the diff, and the calls that were run again: these relative differences come out."""
    asked = []

    def run_again(order, other):
        figure = relative[len(asked)]
        asked.append((order, other))
        return {
            (order, "inputs"): (ExactDiff("[0]", "[0]", 2, 0, 0.0, 0.0),),
            (order, "outputs"): (ExactDiff("[0]", "[0]", 2, 1, 1.0, figure),),
        }

    given = Tolerances() if limit is None else Tolerances((("*", limit),))
    return locate(a, b, given, run_again), asked


def test_the_call_is_told_with_its_exact_figures():
    diff, asked = located(net(1), net(2, call("x", (1,), (2,))), 0.75)
    assert asked == [(1, 2)]  # the order in A, and in B
    assert (diff.first.a.name, diff.first.relative) == ("l0", 0.75)
    assert [row.differ for row in (*diff.first.inputs, *diff.first.outputs)] == [0, 1]


@pytest.mark.parametrize(
    ("figures", "limit", "found"),
    [
        ((1e-7, 0.75), None, "l1"),
        ((1e-7, 1e-7, 0.75), None, "l2"),
        ((1e-7, 1e-7, 1e-7), None, "l3"),  # at most three calls are run again
        ((0.2, 0.4), 0.3, "l1"),
    ],
)
def test_if_the_exact_figure_is_within_the_limit_the_next_call_is_compared(figures, limit, found):
    diff, asked = located(net(1), net(2), *figures, limit=limit)
    assert asked == [(order, order) for order in range(1, len(figures) + 1)]
    assert (diff.verdict, diff.first.a.name) == ("different", found)


def test_nothing_is_run_again_without_a_call_that_differs():
    diff, asked = located(net(1), net(1))
    assert (diff.verdict, asked) == ("same", [])
    diff, asked = located(report(parameters=[("w", 1, None)]), report(parameters=[("w", 2, None)]))
    assert (diff.first.fault, asked) == ("parameter", [])


def test_what_the_model_returns_is_compared_exactly_too():
    a, b = (report(call("a", (1,), (out,)), root=((1,), (out,))) for out in (2, 3))
    diff, asked = located(a, b, 1e-7, 1e-7)
    assert (diff.verdict, diff.first, asked) == ("same", None, [(1, 1), (0, 0)])
    assert [item.how for item in diff.output] == ["exact"]
    diff, asked = located(a, b, 1e-7, 0.75)
    assert (diff.verdict, diff.first.a.name, diff.first.relative) == ("different", "", 0.75)
