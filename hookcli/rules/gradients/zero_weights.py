"""Weights that are zero, and gradients that are zero in the first step only."""

from __future__ import annotations

from collections.abc import Mapping

from hookcli.report.report import ParameterRow, Report
from hookcli.text import join_names

LATER = "later_gradients"
ZERO_INITIALIZATION = "zero_initialization"
_NAMED = 2  # zero weights that a sentence names
_ADDED = ("bias", "shift", "offset", "beta")  # parameters that are added: zeros stop nothing


def is_zero_weight(row: ParameterRow) -> bool:
    """Return whether this is a weight, not a bias, all of whose elements are zero."""
    norm = (row.stats or {}).get("norm")
    added = any(word in row.name.rpartition(".")[2] for word in _ADDED)
    return norm == 0 and bool(row.numel) and row.requires_grad and not added


def later_gradients(report: Report) -> tuple[int, frozenset[str]] | None:
    """Return the steps that were made, and the parameters that got a gradient then.

    None if it was not measured.
    """
    for row in report.measurements:
        if row.probe == LATER and isinstance(row.value, Mapping) and "reached" in row.value:
            return row.value["steps"], frozenset(row.value["reached"])
    return None


def named_with_verb(weights: list[str]) -> str:
    """Return the weights with their verb: "'a.weight', 'b.weight' and 2 more are"."""
    names = join_names([f"'{name}'" for name in weights], _NAMED)
    return f"{names} {'is' if len(weights) == 1 else 'are'}"
