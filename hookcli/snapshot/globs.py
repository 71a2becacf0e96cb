"""Turns sets of names into few globs that match exactly these names: `encoder.*`, `*.bias`."""

from __future__ import annotations

import bisect
import fnmatch
import heapq
import itertools
import math
import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

_ODD = re.compile(r"[*?\[{]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")  # half of a character, not allowed in YAML
_NUMBER = re.compile(r"(?<![^.])(?:0|[1-9][0-9]{0,6})(?![^.])")  # a part of a name between dots

Folded: TypeAlias = "list[tuple[str, Hashable]]"


def exactly(name: str) -> str:
    """Return a glob that matches only this name."""
    return _SURROGATE.sub("?", _ODD.sub(lambda match: f"[{match[0]}]", name))


class NameSet:
    """All names that a glob might match, sorted so that a glob is compared with few of them."""

    def __init__(self, names: Collection[str]) -> None:
        self._sorted = sorted(set(names))

    def matched(self, glob: str) -> Iterator[str]:
        """Yield the names that a glob matches."""
        start = re.split(r"[*?\[]", glob, maxsplit=1)[0]
        match = re.compile(fnmatch.translate(glob)).match
        for i in range(bisect.bisect_left(self._sorted, start), len(self._sorted)):
            if not self._sorted[i].startswith(start):
                return
            if match(self._sorted[i]):
                yield self._sorted[i]

    def are(self, glob: str, meant: Collection[str]) -> bool:
        """Return whether a glob matches only names in `meant`."""
        return all(name in meant for name in self.matched(glob))


def ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Yield globs of digits that match exactly these numbers, which must ascend."""
    i = 0
    while i < len(numbers):
        j = i
        while j + 1 < len(numbers) and numbers[j + 1] == numbers[j] + 1:
            j += 1
        yield from _range(numbers[i], numbers[j])
        i = j + 1


def _range(low: int, high: int) -> Iterator[str]:
    """Yield globs for the numbers from low to high: for 3 to 25, [3-9], 1[0-9] and 2[0-5]."""
    if low <= 9:
        yield _digits(low, min(high, 9))
        low = 10
    if low > high:
        return
    if low // 10 == high // 10:
        yield f"{low // 10}{_digits(low % 10, high % 10)}"
        return
    if low % 10:
        yield f"{low // 10}{_digits(low % 10, 9)}"
        low = (low // 10 + 1) * 10
    whole = (high + 1) // 10 - 1  # the last ten of which all numbers are in the range
    if whole >= low // 10:
        yield from (f"{tens}[0-9]" for tens in _range(low // 10, whole))
        low = (whole + 1) * 10
    if low <= high:
        yield f"{low // 10}{_digits(0, high % 10)}"


def _digits(low: int, high: int) -> str:
    return str(low) if low == high else f"[{low}-{high}]"


@dataclass(frozen=True, slots=True)
class _NumberedName:
    """A name with the numbers in it, and the value that it is grouped by."""

    name: str
    numbers: tuple[int, ...]
    value: Hashable


def folded(values: Mapping[str, Hashable], names: NameSet) -> Folded:
    """Return globs with their values, in the order of the first name that each matches.

    Each name in `values` is matched only by globs with its value. No other name is matched.
    """
    alike: dict[tuple[str, ...], list[_NumberedName]] = {}
    for name, value in values.items():
        parts = tuple(_NUMBER.split(name))
        numbers = tuple(int(match) for match in _NUMBER.findall(name))
        alike.setdefault(parts, []).append(_NumberedName(name, numbers, value))
    first = {name: i for i, name in enumerate(values)}
    folds: list[tuple[int, str, Hashable]] = []
    for parts, group in alike.items():
        for glob, member in _globs(parts, group, names):
            folds.append((first[member.name], glob, member.value))
    return [(glob, value) for _, glob, value in sorted(folds, key=lambda fold: fold[0])]


def _globs(
    parts: tuple[str, ...], group: list[_NumberedName], names: NameSet
) -> Iterator[tuple[str, _NumberedName]]:
    """Yield the globs of names that differ only in their numbers."""
    if len(group) == 1:
        yield exactly(group[0].name), group[0]
        return
    bare = [exactly(part) for part in parts]
    whole = [{member.numbers[i] for member in group} for i in range(len(parts) - 1)]
    alike: dict[Hashable, list[_NumberedName]] = {}
    for member in group:
        alike.setdefault(member.value, []).append(member)
    for some in alike.values():
        yield from _of_one_value(bare, whole, some, names)


def _of_one_value(
    bare: list[str], whole: list[set[int]], some: list[_NumberedName], names: NameSet
) -> Iterator[tuple[str, _NumberedName]]:
    """Yield globs if the names are all combinations of some numbers, else the names themselves."""
    numbers = [{member.numbers[i] for member in some} for i in range(len(whole))]
    if math.prod(map(len, numbers)) == len(some) > 1:
        digits = [list(ranges(sorted(column))) for column in numbers]
        wide = [
            ["*"] if column == all_ and len(column) > 1 else own
            for column, all_, own in zip(numbers, whole, digits, strict=True)
        ]
        meant = {member.name for member in some}
        for choice in (wide, digits):
            globs = [_woven(bare, words) for words in itertools.product(*choice)]
            if len(globs) < len(some) and all(names.are(glob, meant) for glob in globs):
                yield from ((glob, some[0]) for glob in globs)
                return
    if len(some) > 1 and len(whole) > 1:
        at = max(range(len(whole)), key=lambda i: len(numbers[i]))
        rest: dict[tuple[int, ...], list[_NumberedName]] = {}
        for member in some:
            rest.setdefault((*member.numbers[:at], *member.numbers[at + 1 :]), []).append(member)
        if len(rest) > 1:
            for fewer in rest.values():
                yield from _of_one_value(bare, whole, fewer, names)
            return
    yield from ((exactly(member.name), member) for member in some)


def _woven(parts: Sequence[str], words: Sequence[str]) -> str:
    """Return the parts of a name with words between them."""
    return "".join(x for pair in zip(parts, (*words, ""), strict=True) for x in pair)


def _wide(name: str) -> Iterator[str]:
    """Yield the globs that match by the beginning of a name or by its end."""
    parts = name.split(".")
    for i in range(1, len(parts)):
        yield f"{exactly('.'.join(parts[:i]))}.*"
        yield f"*.{exactly('.'.join(parts[i:]))}"


def cover(meant: Collection[str], everything: Collection[str]) -> list[str]:
    """Return globs that match exactly `meant`, in the order of the first name that each covers.

    If `meant` contains every name, the glob is `*`.
    """
    inside = dict.fromkeys(meant)
    outside = [name for name in everything if name not in inside]
    if not inside:
        return []
    if not outside:
        return ["*"]
    taken = {glob for name in outside for glob in _wide(name)}
    globs: dict[str, list[str]] = {}
    for name in inside:
        for glob in _wide(name):
            if glob not in taken:
                globs.setdefault(glob, []).append(name)
    chosen: dict[str, str] = {}  # from each name to the glob that covers it
    queue = [(-len(names), len(glob), glob) for glob, names in globs.items() if len(names) > 1]
    heapq.heapify(queue)
    while queue:
        count, length, glob = heapq.heappop(queue)
        left = [name for name in globs[glob] if name not in chosen]
        if len(left) < 2:
            continue
        if len(left) < -count:  # other globs have covered some of its names since
            heapq.heappush(queue, (-len(left), length, glob))
            continue
        chosen |= dict.fromkeys(left, glob)
    rest = {name: True for name in inside if name not in chosen}
    wide = {glob: None for name in inside for glob in [chosen.get(name)] if glob is not None}
    narrow = (glob for glob, _ in folded(rest, NameSet([*outside, *rest])))
    return [*wide, *narrow]
