"""Select rows of a report by glob, and name them in messages."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from hookcli.report.report import LayerRow, ParameterRow, Report
from hookcli.report.values import Leaf


def matches(glob: str, name: str | None, aliases: Sequence[str] = ()) -> bool:
    """Return whether a case-sensitive glob, in which `*` crosses dots, matches one of the names."""
    if name is None:
        return False
    match = _matcher(glob)
    return bool(match(name)) or any(match(alias) for alias in aliases)


@lru_cache(maxsize=4096)
def _matcher(glob: str) -> Callable[[str], object]:
    """Return a predicate for the names that a glob matches; cached, as it is used for many."""
    if glob == "*":
        return lambda _: True
    if not any(letter in glob for letter in "*?["):
        return glob.__eq__
    return re.compile(fnmatch.translate(glob)).match


_RECORD = ": "  # between the record and the target


def in_record(record: str, target: str) -> str:
    """Return a target of one of several records of a training: "netG: conv1.weight"."""
    return f"{record}{_RECORD}{target}" if target else record


def without_record(record: str, target: str) -> str:
    """Return the target that `in_record` got; others are returned as they are."""
    return "" if target == record else target.removeprefix(f"{record}{_RECORD}")


def calls_at(report: Report, glob: str) -> Iterator[LayerRow]:
    """Yield the calls of the modules that a glob matches."""
    return (row for row in report.layers if matches(glob, row.name, row.aliases))


def parameters_at(report: Report, globs: Iterable[str]) -> Iterator[ParameterRow]:
    """Yield the parameters that one of the globs matches."""
    wanted = tuple(globs)
    for row in report.parameters:
        if any(matches(glob, row.name, row.shared_with) for glob in wanted):
            yield row


def called(name: str | None, kind: str, call: int | None) -> str:
    """Return the name of a call in messages: "fc (Linear), call 1", "the model (Net)"."""
    label = f"an unregistered {kind}" if name is None else f"{name} ({kind})"
    label = f"the model ({kind})" if name == "" else label
    return f"{label}, call {call}" if call else label


def layer(row: LayerRow) -> str:
    """Return the name of a row in messages."""
    return called(row.name, row.type, row.call)


def weight_of(bias: str) -> str | None:
    """Return the name of the weight of the same module; None of what is not named as a bias."""
    module, _, last = bias.rpartition(".")
    return (f"{module}.weight" if module else "weight") if last == "bias" else None


def places(report: Report) -> dict[str, str]:
    """Return the place of each module in the user's source, by name and alias."""
    by_name: dict[str, str] = {}
    for module in report.uncalled:
        if module.place is not None:
            by_name[module.name] = module.place
    for row in reversed(report.layers):  # the first call counts
        if row.place is not None:
            by_name.update(dict.fromkeys((row.name or "", *row.aliases), row.place))
    return by_name


def owner(parameter: str) -> str:
    """Return the name of the module that a parameter belongs to."""
    return parameter.rpartition(".")[0]


def modules_above(parameter: str) -> Iterator[str]:
    """Yield the modules that contain a parameter, the innermost first; "" is the model."""
    name = parameter
    while name:
        name = owner(name)
        yield name


def leaves_of(row: LayerRow, part: str) -> tuple[Leaf, ...]:
    """Return the tensors of the "input" or "output" of a call."""
    return row.inputs if part == "input" else row.outputs


def rows_with(report: Report, probe: str, key: str) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the target and the value of the measurements of a probe that have a key.

    One without it tells only that the probe looked.
    """
    rows = ((m.target, m.value) for m in report.measurements if m.probe == probe)
    return [(name, value) for name, value in rows if isinstance(value, Mapping) and key in value]


def runs_in_another(report: Report, name: str) -> str | None:
    """Return a module of the same type as one around `name` whose own part of that name ran.

    Such as 'decoder.0' for 'encoder.0.norm2', if both are of one class: the class calls that part
    in one of its uses only.
    """
    types = {row.name: row.type for row in report.layers if row.name}
    around = name
    while around := around.rpartition(".")[0]:
        part = name.removeprefix(f"{around}.")
        for other, kind in types.items():
            if other != around and kind == types.get(around) and f"{other}.{part}" in types:
                return other
    return None
