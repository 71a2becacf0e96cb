"""Checks of the order in which layers run: the calls that each module makes, in their order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from hookcli.repetitions import repetitions
from hookcli.report.report import Report
from hookcli.rules.firing_order import callees
from hookcli.snapshot.globs import exactly, folded
from hookcli.snapshot.section import Section, by_depth, by_module, known_names

_MOST = 30  # lines
_LONGEST = 120  # entries of one order
_ROUND = 12  # names in a round that repeats
_NUMBER = re.compile(r"(?<![^.])(?:0|[1-9][0-9]{0,6})(?![^.])")

Entry: TypeAlias = "str | dict[str, Any]"


def _numbered(names: Sequence[str]) -> list[str]:
    """Return globs of names. Three or more consecutive numbers become a range: h.{0..11}."""
    globs: list[str] = []
    i = 0
    while i < len(names):
        match = _NUMBER.search(names[i])
        if match is None:
            globs.append(exactly(names[i]))
            i += 1
            continue
        before, after = names[i][: match.start()], names[i][match.end() :]
        first = last = int(match[0])
        while i + last - first + 1 < len(names):
            if names[i + last - first + 1] != f"{before}{last + 1}{after}":
                break
            last += 1
        if last - first >= 2:
            globs.append(f"{exactly(before)}{{{first}..{last}}}{exactly(after)}")
            i += last - first + 1
        else:
            globs.append(exactly(names[i]))
            i += 1
    return globs


def written(names: Sequence[str]) -> list[Entry]:
    """Return an order as a check contains it."""
    entries: list[Entry] = []
    plain: list[str] = []
    for start, length, times in repetitions(names, _ROUND):
        some = list(names[start : start + length])
        if times == 1 or length * times < 4:
            plain += some * times
            continue
        entries += _numbered(plain)
        plain = []
        entries.append({"of": _numbered(some), "times": times})
    return [*entries, *_numbered(plain)]


def order(report: Report, depth: int | None) -> Section:
    """Return checks of what each module calls, down to `depth`, or as deep as few lines allow."""
    called, names = callees(report), known_names(report)
    orders: dict[str, tuple[str, ...]] = {}
    for name, rows in by_module(report).items():
        made = {tuple(called.get(row.order, ())) for row in rows}
        if len(made) == 1 and len(next(iter(made))) > 1:  # the same calls every time
            orders[name] = made.pop()
    orders = {
        name: sequence for name, sequence in orders.items() if len(written(sequence)) <= _LONGEST
    }

    def lines(some: list[str]) -> list[dict[str, Any]]:
        return [
            {"rule": "firing_order", "within": glob, "order": written(sequence), "match": "exact"}  # type: ignore[arg-type]
            for glob, sequence in folded({name: orders[name] for name in some}, names)
        ]

    checks, cut = by_depth(orders, depth, _MOST, lines)
    return Section(("The modules that each module calls, in their order.", *cut), tuple(checks))
