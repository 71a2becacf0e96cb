"""Rows that say the same of many: checks that passed, and one finding in every block of a model."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from hookcli.report.findings import CheckRow
from hookcli.rules.targets import listed

_APART = 3  # rows of one kind that stand by themselves
_DIGITS = re.compile(r"[0-9]+")


def _kind(row: CheckRow) -> tuple[object, ...]:
    """What rows have in common that are told as one; names may differ in their numbers."""
    if row.status == "pass":
        return (row.status, row.rule)
    if row.status not in {"fail", "skip"} or not row.target:
        return (id(row),)
    same = _DIGITS.sub("0", row.target)
    said = row.message.replace(row.target, same)
    return (row.status, row.rule, row.severity, row.place, same, said)


def folded(rows: Sequence[CheckRow]) -> list[CheckRow]:
    """The rows in their order, where more than three of a kind are one."""
    kinds: dict[tuple[object, ...], list[CheckRow]] = {}
    for row in rows:
        kinds.setdefault(_kind(row), []).append(row)
    found: list[CheckRow] = []
    for row in rows:
        alike = kinds[_kind(row)]
        if len(alike) <= _APART:
            found.append(row)
        elif row is alike[0]:
            found.append(_one(alike))
    return found


def _one(rows: list[CheckRow]) -> CheckRow:
    """A row that stands for all of these."""
    first, more = rows[0], len(rows) - 1
    if first.status == "pass":
        many = f"{len(rows):,} checks"
        return dataclasses.replace(
            first, target=many, value=None, limit=None, message=f"{many} hold"
        )
    others = listed([row.target for row in rows[1:]])
    return dataclasses.replace(
        first,
        target=f"{first.target} and {more:,} more",
        message=f"{first.message}; and so at {others}",
    )
