"""A part of a snapshot: a comment and its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hookcli.report.report import LayerRow, Report
from hookcli.rules.catalogue import CATALOGUE
from hookcli.snapshot.globs import NameSet
from hookcli.spec.checks import CheckSpec

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Section:
    """Checks under a comment. Each check is a mapping as in YAML, with `rule` first."""

    says: tuple[str, ...]
    checks: tuple[dict[str, Any], ...] = field(default=())


def spec_of(check: Mapping[str, Any]) -> CheckSpec:
    """Return a check as it is read from a file."""
    options = {key: value for key, value in check.items() if key not in {"rule", "severity"}}
    for option in CATALOGUE[check["rule"]].options:
        value = options.get(option.name)
        if option.shape == "globs" and isinstance(value, str):
            options[option.name] = (value,)
    return CheckSpec(check["rule"], options, severity=check.get("severity"))


def known_names(report: Report) -> NameSet:
    """Return every name that a glob of modules might match."""
    called = (n for row in report.layers if row.name is not None for n in (row.name, *row.aliases))
    return NameSet([*called, *(module.name for module in report.uncalled)])


def by_module(report: Report) -> dict[str, list[LayerRow]]:
    """Return the calls of each named module, in the order of their first calls."""
    calls: dict[str, list[LayerRow]] = {}
    for row in report.layers:
        if row.name is not None and not row.recomputed:
            calls.setdefault(row.name, []).append(row)
    return calls


def depth_of(name: str) -> int:
    """Return the depth of a name: 0 for the model itself."""
    return name.count(".") + 1 if name else 0


def by_depth(
    names: Iterable[str], depth: int | None, most: int, make: Callable[[list[str]], list[T]]
) -> tuple[list[T], tuple[str, ...]]:
    """Return what `make` returns for the names down to a depth, and a comment if names are left.

    Without a depth, it is the greatest at which `make` returns at most `most` items.
    """
    listed = list(names)
    depths = sorted({depth_of(name) for name in listed})
    made: list[T] = []
    taken: int | None = None
    for level in [value for value in depths if depth is None or value <= depth][
        -1 if depth else 0 :
    ]:
        more = make([name for name in listed if depth_of(name) <= level])
        if depth is None and len(more) > most:
            if taken is None:
                return more[:most], (f"The first {most} of {len(more):,}.",)
            break
        made, taken = more, level
    if not depths or taken == depths[-1]:
        return made, ()
    return made, (f"Down to depth {taken or 0}; hookcli snapshot --depth N includes more.",)
