"""Checks of a model's costs: its exact size, and limits of its compute with a margin."""

from __future__ import annotations

from typing import Any

from hookcli.report.report import Report
from hookcli.rules.module_costs import parts_at
from hookcli.snapshot.globs import NameSet, folded
from hookcli.snapshot.section import Section

_MOST = 20  # lines of parts
_ROOM = 105  # percent of today's, before it is rounded up to two digits
_NOUNS = {"flops": "FLOPs", "activation_bytes": "bytes of activations"}


def roomy(value: int) -> int:
    """Return today's figure plus 5 %, rounded up to two digits: a limit with 5 to 16 % margin."""
    limit = -(-value * _ROOM // 100)
    unit: int = 10 ** max(len(str(limit)) - 2, 0)
    return -(-limit // unit) * unit


def _sizes(report: Report) -> dict[str, int]:
    """Return the number of parameters of every module that has some."""
    return {
        name: figures["parameters"]
        for name, figures in parts_at(report, "*", ("parameters",)).items()
        if figures["parameters"]
    }


def main_parts(sizes: dict[str, int]) -> dict[str, int]:
    """Return the sizes of the outermost modules of which there are several."""
    above = ""
    while True:
        depth = above.count(".") + 1 if above else 0
        inside = f"{above}." if above else ""
        parts = {
            name: size
            for name, size in sizes.items()
            if name and name.count(".") == depth and name.startswith(inside)
        }
        if len(parts) != 1:
            return parts
        (above,) = parts


def _names(report: Report, sizes: dict[str, int]) -> NameSet:
    """Return the names of all modules, which a glob might match."""
    called = (n for row in report.layers if row.name is not None for n in (row.name, *row.aliases))
    return NameSet([*sizes, *called, *(module.name for module in report.uncalled)])


def size(report: Report) -> Section:
    """Return checks of the number of parameters, in total and by module."""
    model = report.model
    whole = {
        name: getattr(model, name)
        for name in ("parameters", "trainable_parameters", "buffer_bytes")
        if getattr(model, name) is not None
    }
    if not whole:
        return Section(())
    checks: list[dict[str, Any]] = [{"rule": "budget", **whole, "exact": True}]
    sizes = _sizes(report)
    parts = main_parts(sizes)
    folds = folded(parts, _names(report, sizes)) if len(parts) > 1 else []
    if len(folds) <= _MOST:
        checks += [
            {"rule": "budget", "at": glob, "parameters": count, "exact": True}
            for glob, count in folds
        ]
    says = ("The size of the model. Update these numbers if you change the size on purpose.",)
    return Section(says, tuple(checks))


def compute(report: Report) -> Section:
    """Return limits of what a forward costs."""
    figures = {
        name: value
        for name, value in (
            ("flops", report.totals.flops),
            ("activation_bytes", report.totals.activation_bytes),
        )
        if value
    }
    if not figures:
        return Section(())
    today = ", ".join(f"{value:,} {_NOUNS[name]}" for name, value in figures.items())
    limits = {name: roomy(value) for name, value in figures.items()}
    steps = report.run.steps
    forwards = "one forward" if steps == 1 else f"{steps:,} forwards"
    says = (
        f"Upper limits of the cost of {forwards} with the batch of this file.",
        f"Today: {today}.",
    )
    return Section(says, ({"rule": "budget", **limits},))
