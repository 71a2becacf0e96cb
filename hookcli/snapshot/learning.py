"""Checks of which parameters learn and which are frozen."""

from __future__ import annotations

from typing import Any

from hookcli.report.report import ParameterRow, Report
from hookcli.snapshot.globs import cover
from hookcli.snapshot.section import Section

PROBE = "step"
# Fractions of the norm of all gradients. A smaller gradient may be rounding on another machine.
_FINE, _COARSE = 1e-6, 1e-3
_MOST = 40  # globs of one check; a reader does not gain from more


def learning(report: Report) -> Section:
    """Return checks of the parameters that a step changed, and of those that are frozen."""
    changed = {
        measurement.target: measurement.value
        for measurement in report.measurements
        if measurement.probe == PROBE
    }
    if not changed or "" in changed:
        return Section(())
    learn = [r.name for r in report.parameters if _learns(report, r) and changed.get(r.name)]
    still = [r.name for r in report.parameters if r.status == "frozen" and not changed.get(r.name)]
    names = [n for row in report.parameters for n in (row.name, *row.shared_with)]
    checks: list[dict[str, Any]] = []
    for rule, some in (("trainable", learn), ("frozen", still)):
        globs = cover(some, _others(report, some, names))
        if globs and len(globs) <= _MOST:
            checks.append({"rule": rule, "at": globs[0] if len(globs) == 1 else tuple(globs)})
    return Section(("The parameters that learn, and those that are frozen.",), tuple(checks))


def _learns(report: Report, row: ParameterRow) -> bool:
    """Return whether the gradient is more than rounding, which is all a bias before a norm gets."""
    if row.status != "ok" or row.grad is None:
        return row.status == "ok"
    norm, total = row.grad.get("norm"), report.totals.grad_norm
    if not isinstance(norm, int | float) or not isinstance(total, int | float):
        return True
    return norm > total * (_COARSE if row.dtype in {"float16", "bfloat16"} else _FINE)


def _others(report: Report, some: list[str], names: list[str]) -> list[str]:
    """Return the names that a glob must not match: all names of the other parameters."""
    meant = set(some)
    own = {alias for row in report.parameters if row.name in meant for alias in row.shared_with}
    return [name for name in names if name not in own]
