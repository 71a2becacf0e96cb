"""Rows of a report that a pattern names, and how they are called in a sentence."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from hookcli.report.report import LayerRow, ParameterRow, Report
from hookcli.report.values import Leaf


def matches(glob: str, name: str | None, aliases: Sequence[str] = ()) -> bool:
    """Whether a case-sensitive glob, in which `*` crosses dots, matches one of the names."""
    if name is None:
        return False
    is_it = _matcher(glob)
    return bool(is_it(name)) or any(is_it(alias) for alias in aliases)


@lru_cache(maxsize=4096)
def _matcher(glob: str) -> Callable[[str], object]:
    """What is true of the names that a glob matches: for many names, so made once."""
    if glob == "*":
        return lambda _: True
    if not any(letter in glob for letter in "*?["):
        return glob.__eq__
    return re.compile(fnmatch.translate(glob)).match


def calls_at(report: Report, glob: str) -> Iterator[LayerRow]:
    """The calls of the modules that a glob names."""
    return (row for row in report.layers if matches(glob, row.name, row.aliases))


def parameters_at(report: Report, globs: Iterable[str]) -> Iterator[ParameterRow]:
    """The parameters that one of the globs names."""
    wanted = tuple(globs)
    for row in report.parameters:
        if any(matches(glob, row.name, row.shared_with) for glob in wanted):
            yield row


def called(name: str | None, kind: str, call: int | None = 0) -> str:
    """A call in a sentence: "fc (Linear), call 1", "the model (Net)"."""
    label = f"an unregistered {kind}" if name is None else f"{name} ({kind})"
    label = f"the model ({kind})" if name == "" else label
    return f"{label}, call {call}" if call else label


def layer(row: LayerRow) -> str:
    """The same for a row."""
    return called(row.name, row.type, row.call)


def places(report: Report) -> dict[str, str]:
    """Where each module stands in the user's source, by its names."""
    by_name: dict[str, str] = {}
    for module in report.uncalled:
        if module.place is not None:
            by_name[module.name] = module.place
    for row in reversed(report.layers):  # the first call counts
        if row.place is not None:
            by_name.update(dict.fromkeys((row.name or "", *row.aliases), row.place))
    return by_name


def owner(parameter: str) -> str:
    """The module that a parameter stands in."""
    return parameter.rpartition(".")[0]


def leaves_of(row: LayerRow, part: str) -> tuple[Leaf, ...]:
    """The tensors of a call's "input" or "output"."""
    return row.inputs if part == "input" else row.outputs
