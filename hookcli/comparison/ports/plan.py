"""Decides whether two models are implementations with other names, and how weights correspond."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from hookcli.comparison.matching import alignment, paired_calls, sketched
from hookcli.comparison.ports.maps.fits import Made
from hookcli.comparison.ports.maps.infer import infer_map
from hookcli.comparison.ports.maps.weight_map import MapRow, expand
from hookcli.comparison.ports.matches import limit_of
from hookcli.comparison.ports.port_diff import PortSettings
from hookcli.comparison.ports.values import apart, is_telling, parts_apart, print_of
from hookcli.comparison.tolerance import Tolerances
from hookcli.report.report import Report
from hookcli.spec.request import MadeTensor

_GRAPHS = {"torchscript", "exported"}


def is_port(a: Report, b: Report) -> bool:
    """Return whether both models have calls without a counterpart of an equal name.

    Calls of modules that have no parameters count too: an activation that has another name. A
    graph, traced or exported, keeps the names of its source, and lacks what nobody reads.

    So are two models of which one has a layer, such as an LSTM, and the other a module of that name
    that calls others, such as a loop of cells, and that returns fewer or more tensors.
    """
    if not _GRAPHS.isdisjoint({a.model.format, b.model.format}):
        return False
    pairs = paired_calls(a, b, alignment(a, b))
    taken = {row.order for row in pairs.values()}
    if any(row.order not in pairs for row in a.layers) and any(
        row.order not in taken for row in b.layers
    ):
        return True
    callers = [{row.parent for row in report.layers} for report in (a, b)]
    return any(
        row.type != pairs[row.order].type
        and (row.order in callers[0]) != (pairs[row.order].order in callers[1])
        and len(row.outputs) != len(pairs[row.order].outputs)
        for row in a.layers
        if row.order in pairs
    )


def port_settings(
    a: Report,
    b: Report,
    lines: Sequence[MapRow] | None,
    *,
    own_weights: bool,
    tolerances: Tolerances,
) -> PortSettings:
    """Return how two implementations are compared; `lines` are those of a map that was given.

    Raises
    ------
    RequestError : a line of the map names a tensor that is not there.
    """
    if lines is None:
        inferred = infer_map(a, b)
        weights: Literal["own", "inferred"] = "own" if own_weights else "inferred"
        return PortSettings(
            inferred.made,
            inferred.groups,
            weights,
            inferred.unused,
            inferred.missing,
            tolerances,
        )
    ours, theirs = _tensors(a), _tensors(b)
    made = expand(lines, ours, theirs)
    used = {part.name for row in made.values() for part in row.parts}
    return PortSettings(
        made,
        _groups(made),
        "own" if own_weights else "given",
        tuple(row.name for row in a.parameters if row.name not in used),
        tuple(row.name for row in b.parameters if row.name not in made),
        tolerances,
    )


def _tensors(report: Report) -> list[str]:
    rows = [row.name for row in report.parameters]
    rows += [name for row in report.parameters for name in row.shared_with]
    return [*rows, *(row.name for row in report.buffers)]


def _groups(made: Made) -> Sequence[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return the modules that a map connects: those of a target, and of what makes it."""
    by_target: dict[str, dict[str, None]] = {}
    for target, row in made.items():
        module = target.rpartition(".")[0]
        for part in row.parts:
            by_target.setdefault(module, {})[part.name.rpartition(".")[0]] = None
    by_sources: dict[tuple[str, ...], list[str]] = {}
    for module, sources in by_target.items():
        by_sources.setdefault(tuple(sources), []).append(module)
    return [(sources, tuple(modules)) for sources, modules in by_sources.items()]


def has_weights_of(a: Report, b: Report, made: Made) -> bool:
    """Return whether B already has A's weights, in whatever layout, where names differ.

    It then keeps them: they may be converted in a way that shapes do not show. All must be equal:
    two new models with one seed have some in common. Vectors do not count, which are alike in them.
    """
    ours, theirs = sketched(a).parameters, sketched(b).parameters
    shapes = {row.name: row.shape for row in a.parameters}
    names = alignment(a, b).pairs(shapes, theirs)
    equal = []
    for row in b.parameters:
        parts = made[row.name].parts if row.name in made else ()
        is_named = len(parts) == 1 and names.get(parts[0].name) == row.name
        if not parts or is_named or len(row.shape) < 2 or any(part.rows for part in parts):
            continue
        own = print_of(row.shape, theirs.get(row.name))
        found = [print_of(shapes[part.name], ours.get(part.name)) for part in parts]
        known = [one for one in found if one is not None]
        if own is None or not is_telling(own) or len(known) < len(parts):
            continue
        far = apart(known[0], own) if len(known) == 1 else parts_apart(own, known)
        equal.append(far <= limit_of([row.dtype]))
    return bool(equal) and all(equal)


def loaded_by(settings: PortSettings) -> tuple[MadeTensor, ...]:
    """Return what B's process makes of A's tensors."""
    return tuple(settings.made.values())
