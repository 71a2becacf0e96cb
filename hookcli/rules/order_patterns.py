"""Expected orders of names: how they are written, and where an observed order differs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hookcli.rules.select import matches
from hookcli.text import counted, join_names

MOST = 1_000_000  # names in one order
_RANGE = re.compile(r"\{([0-9]{1,1000})\.\.([0-9]{1,1000})\}")  # int() has a limit of digits


def expand_order(order: Sequence[Any]) -> list[str]:
    """Return all names of an order: `h.{0..2}` is three, {of: [a, b], times: 2} is a, b, a, b.

    Raises
    ------
    ValueError : there are more than a million names.

    """
    names: list[str] = []
    for item in order:
        rounds = isinstance(item, Mapping)
        some = expand_order(item["of"]) if rounds else _numbered(item)
        times = item["times"] if rounds else 1
        if len(names) + len(some) * times > MOST:
            raise _too_long()
        names += some * times
    return names


def _numbered(text: str) -> list[str]:
    """Expand the first range in a string; a range that counts down is taken literally."""
    match = _RANGE.search(text)
    if match is None:
        return [text]
    low, high = int(match[1]), int(match[2])
    if low > high:
        return [text]
    if high - low >= MOST:
        raise _too_long()
    before, after = text[: match.start()], text[match.end() :]
    return [f"{before}{number}{after}" for number in range(low, high + 1)]


def _too_long() -> ValueError:
    return ValueError(f"the order has more than {MOST:,} names")


def _named(name: str) -> str:
    return name or "the model"


def prefix(seen: Sequence[str], order: Sequence[str], *, whole: bool) -> tuple[str, str]:
    """Return why `seen` does not begin with `order`, and the name concerned; else ("", "").

    With `whole`, `seen` must also end with it.
    """
    for i, expected in enumerate(order):
        if i >= len(seen):
            length = counted(len(seen), "name")
            return f"{_named(expected)} is missing: the run has only {length}", expected
        if not matches(expected, seen[i]):
            later = next((j for j in range(i, len(seen)) if matches(expected, seen[j])), None)
            aside = "is missing" if later is None else f"is at position {later:,}"
            if later is None and any(matches(expected, name) for name in seen):
                aside = "is not repeated"
            message = f"position {i:,} is {_named(seen[i])}, expected {_named(expected)}"
            return f"{message}, which {aside}", seen[i]
    if whole and len(seen) > len(order):
        rest = seen[len(order) :]
        return f"the expected names are followed by {join_names(rest)}", rest[0]
    return "", ""


def subsequence(seen: Sequence[str], order: Sequence[str]) -> tuple[str, str]:
    """Return why `order` is not a subsequence of `seen`, and the name concerned; else ("", "")."""
    start = 0
    for i, expected in enumerate(order):
        at = next((j for j in range(start, len(seen)) if matches(expected, seen[j])), None)
        if at is not None:
            start = at + 1
            continue
        if any(matches(expected, name) for name in seen):
            before = _named(order[i - 1])
            return f"{_named(expected)} is before {before}, expected after it", expected
        after = f" after {_named(order[i - 1])}" if i else ""
        return f"{_named(expected)} is missing{after}", expected
    return "", ""
