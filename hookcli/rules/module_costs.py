"""The cost of parts of a model: each module with its submodules."""

from __future__ import annotations

from collections.abc import Collection

from hookcli.report.report import LayerRow, ParameterRow, Report
from hookcli.rules.select import matches, modules_above

_OF_CALLS = {"macs", "flops", "calls"}


def _calls(report: Report, glob: str) -> dict[str, list[LayerRow]]:
    """Return the calls of each module that a glob matches and that ran."""
    calls: dict[str, list[LayerRow]] = {}
    for row in report.layers:
        if not row.recomputed and matches(glob, row.name, row.aliases):
            calls.setdefault(row.name or "", []).append(row)
    return calls


def _parameters(report: Report, glob: str, ran: Collection[str]) -> dict[str, list[ParameterRow]]:
    """Return the parameters of each module that a glob matches, under all names, each once."""
    known = dict.fromkeys(ran, True)  # whether the glob matches a module
    parameters: dict[str, list[ParameterRow]] = {}
    for row in report.parameters:
        for name in {
            above: None for own in (row.name, *row.shared_with) for above in modules_above(own)
        }:
            if name not in known:
                known[name] = matches(glob, name)
            if known[name]:
                parameters.setdefault(name, []).append(row)
    return parameters


def _summed(values: list[int | None]) -> int | None:
    """Return the sum, or None if a value is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def _costs(report: Report) -> dict[int, tuple[int | None, int | None]]:
    """Return (multiply-adds, FLOPs) of each call including its callees, by `order`."""
    below: dict[int, list[LayerRow]] = {}
    for row in report.layers:
        if row.parent is not None:
            below.setdefault(row.parent, []).append(row)
    costs: dict[int, tuple[int | None, int | None]] = {}
    for row in reversed(report.layers):  # a caller comes before its callees
        inner = [costs[callee.order] for callee in below.get(row.order, ())]
        costs[row.order] = (
            _summed([row.macs, *(macs for macs, _ in inner)]),
            _summed([row.flops, *(flops for _, flops in inner)]),
        )
    return costs


def parts_at(
    report: Report, glob: str, figures: Collection[str]
) -> dict[str, dict[str, int | None]]:
    """Return figures of the parameters of each matching module, and of its calls if required.

    A figure that is not known for a part is missing, or None.
    """
    calls = _calls(report, glob)
    parameters_of = _parameters(report, glob, calls)
    costs = _costs(report) if _OF_CALLS & {*figures} else {}
    names = [*calls, *(n for n in parameters_of if n not in calls)]
    names += [module.name for module in report.uncalled if matches(glob, module.name)]
    parts: dict[str, dict[str, int | None]] = {}
    for name in names:
        parameters, module_calls = parameters_of.get(name, []), calls.get(name, [])
        parts[name] = {
            "parameters": _summed([row.numel for row in parameters]),
            "trainable_parameters": _summed([r.numel for r in parameters if r.requires_grad]),
        }
        if costs:
            parts[name] |= {
                "macs": _summed([costs[row.order][0] for row in module_calls]),
                "flops": _summed([costs[row.order][1] for row in module_calls]),
                "calls": len(module_calls),
            }
    return parts
