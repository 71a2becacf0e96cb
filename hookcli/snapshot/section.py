"""A part of a snapshot: a few lines that say what it holds, and its checks."""

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
    """Checks under a comment. Each is a mapping as it stands in YAML; `rule` comes first."""

    says: tuple[str, ...]
    checks: tuple[dict[str, Any], ...] = field(default=())


def spec_of(check: Mapping[str, Any]) -> CheckSpec:
    """A check as the reader of a file would give it."""
    options = {key: value for key, value in check.items() if key not in {"rule", "severity"}}
    for option in CATALOGUE[check["rule"]].options:
        value = options.get(option.name)
        if option.shape == "globs" and isinstance(value, str):
            options[option.name] = (value,)
    return CheckSpec(check["rule"], options, severity=check.get("severity"))


def known_names(report: Report) -> NameSet:
    """Every name that a glob of modules might match."""
    called = (n for row in report.layers if row.name is not None for n in (row.name, *row.aliases))
    return NameSet([*called, *(module.name for module in report.uncalled)])


def by_module(report: Report) -> dict[str, list[LayerRow]]:
    """The calls of each named module, in the order of its first."""
    calls: dict[str, list[LayerRow]] = {}
    for row in report.layers:
        if row.name is not None and not row.recomputed:
            calls.setdefault(row.name, []).append(row)
    return calls


def depth_of(name: str) -> int:
    """How deep a name is: 0 for the model itself."""
    return name.count(".") + 1 if name else 0


def by_depth(
    names: Iterable[str], depth: int | None, most: int, make: Callable[[list[str]], list[T]]
) -> tuple[list[T], tuple[str, ...]]:
    """What `make` makes of the names, down to a depth, and what to say where that is not all.

    Without a depth, it is the last at which `most` are made at most.
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
    return made, (f"Down to depth {taken or 0}: hookcli snapshot --depth tells more.",)
