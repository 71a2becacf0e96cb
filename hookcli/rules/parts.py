"""The cost of parts of a model: of each module with all that is below it."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.report.model import LayerRow, ParameterRow, Report
from hookcli.rules.targets import matches


def _above(name: str) -> Iterator[str]:
    """The modules that a parameter stands in, from its own up; "" is the model."""
    while name:
        name = name.rpartition(".")[0]
        yield name


def _names(report: Report) -> dict[str, tuple[str, ...]]:
    """Every module that the report tells of, with its other names."""
    found: dict[str, tuple[str, ...]] = {"": ()}
    for row in report.layers:
        if row.name is not None:
            found.setdefault(row.name, row.aliases)
    for one in report.uncalled:
        found.setdefault(one.name, ())
    for parameter in report.parameters:
        for name in _above(parameter.name):
            found.setdefault(name, ())
    return found


def _held(report: Report) -> dict[str, list[ParameterRow]]:
    """The parameters in each module, under all names; each once."""
    found: dict[str, list[ParameterRow]] = {}
    for row in report.parameters:
        for name in dict.fromkeys(a for n in (row.name, *row.shared_with) for a in _above(n)):
            found.setdefault(name, []).append(row)
    return found


def _summed(values: list[int | None]) -> int | None:
    """The sum, or None where a part of it is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _costs(report: Report) -> dict[int, tuple[int | None, int | None]]:
    """(multiply-adds, FLOPs) of each call with those that it made, by its order."""
    below: dict[int, list[LayerRow]] = {}
    for row in report.layers:
        if row.parent is not None:
            below.setdefault(row.parent, []).append(row)
    found: dict[int, tuple[int | None, int | None]] = {}
    for row in reversed(report.layers):  # a caller comes before its callees
        inner = [found[one.order] for one in below.get(row.order, ())]
        found[row.order] = (
            _summed([row.macs, *(macs for macs, _ in inner)]),
            _summed([row.flops, *(flops for _, flops in inner)]),
        )
    return found


def parts_at(report: Report, glob: str) -> dict[str, dict[str, int | None]]:
    """Parameters, multiply-adds, FLOPs and calls of each module that a glob names.

    A figure that is not known for a part is missing, or None.
    """
    names = [name for name, others in _names(report).items() if matches(glob, name, others)]
    held, costs = _held(report), _costs(report)
    calls: dict[str, list[LayerRow]] = {}
    for row in report.layers:
        if row.name is not None and not row.recomputed:
            calls.setdefault(row.name, []).append(row)
    found: dict[str, dict[str, int | None]] = {}
    for name in names:
        parameters, made = held.get(name, []), calls.get(name, [])
        found[name] = {
            "parameters": _summed([row.numel for row in parameters]),
            "trainable_parameters": _summed([r.numel for r in parameters if r.requires_grad]),
            "macs": _summed([costs[row.order][0] for row in made]),
            "flops": _summed([costs[row.order][1] for row in made]),
            "calls": len(made),
        }
    return found
