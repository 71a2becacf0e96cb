"""Locate the first call that differs, and compare it exactly instead of by estimates."""

from __future__ import annotations

from collections.abc import Callable

from hookcli.comparison.compare import Settings, compare
from hookcli.comparison.diff import Diff, ExactDiff
from hookcli.comparison.tolerance import Tolerances
from hookcli.comparison.walk import Exact
from hookcli.report.report import Report

_ROUNDS = 3


def locate(
    a: Report, b: Report, tolerances: Tolerances, run_again: Callable[[int, int], Exact]
) -> Diff:
    """Compare two reports, and compare the first call that differs element by element.

    `run_again` gets the order of a call in A and of its counterpart in B, runs both once more, and
    returns their compared tensors: (order in A, "inputs" or "outputs") → a row for each tensor. If
    an estimate is over the limit but the exact figure is not, the next call is compared.
    """
    return closely(lambda exact: compare(a, b, Settings(tolerances, exact)), run_again)


def closely(compared: Callable[[Exact], Diff], run_again: Callable[[int, int], Exact]) -> Diff:
    """Return a comparison whose first call that differs was compared element by element.

    `compared` makes it of the calls that were compared so.
    """
    exact: dict[tuple[int, str], tuple[ExactDiff, ...]] = {}
    diff = compared(exact)
    for _ in range(_ROUNDS):
        first = diff.first
        if first is None or first.a is None or first.b is None:
            break
        if (first.a.order, "inputs") in exact:
            break
        exact.update(run_again(first.a.order, first.b.order))
        diff = compared(exact)
    return diff
