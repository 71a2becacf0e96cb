"""Whose name on one side stands for whose on the other: equal, or equal below one prefix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

_DEEPEST = 4  # names in a prefix


@dataclass(frozen=True, slots=True)
class Alignment:
    """What one side's names begin with where the other's do not: "model" for `model.fc`.

    At most one of the two is not empty.
    """

    prefix_a: str = ""
    prefix_b: str = ""

    def canonical_a(self, name: str) -> str | None:
        """The name that both sides share; None outside the prefix."""
        return _stripped(name, self.prefix_a)

    def canonical_b(self, name: str) -> str | None:
        """The name that both sides share; None outside the prefix."""
        return _stripped(name, self.prefix_b)

    def pairs(self, names_a: Iterable[str], names_b: Iterable[str]) -> dict[str, str]:
        """A's names → B's, each at most once; what is outside the prefix pairs by equal names."""
        there = list(names_b)
        known = {self.canonical_b(name): name for name in reversed(there)}
        known.pop(None, None)
        partners: dict[str, str] = {}
        left = []
        for name in names_a:
            canonical = self.canonical_a(name)
            if canonical is not None and canonical in known:
                partners[name] = known[canonical]
            else:
                left.append(name)
        free = set(there) - set(partners.values())
        partners.update({name: name for name in left if name in free})
        return partners


def _stripped(name: str, prefix: str) -> str | None:
    if not prefix:
        return name
    if name == prefix:
        return ""
    return name[len(prefix) + 1 :] if name.startswith(f"{prefix}.") else None


def _prefixes(name: str) -> Iterator[str]:
    """`model.net.fc` → `model`, `model.net`."""
    end = -1
    for _ in range(_DEEPEST):
        end = name.find(".", end + 1)
        if end < 0:
            return
        yield name[:end]


def align(names_a: Collection[str], names_b: Collection[str]) -> Alignment:
    """The alignment under which the most names have a partner; without a prefix where that does.

    Names are qualified ones, of parameters and modules.
    """
    ours, theirs = set(names_a) - {""}, set(names_b) - {""}
    best, most = Alignment(), len(ours & theirs)
    for prefix, count in _gains(ours, theirs):
        if count > most:
            best, most = Alignment("", prefix), count
    for prefix, count in _gains(theirs, ours):
        if count > most:
            best, most = Alignment(prefix, ""), count
    return best


def _gains(short: set[str], long: set[str]) -> list[tuple[str, int]]:
    """For each prefix of the long names, how many have a partner without it; the first are short.

    A shorter prefix comes first.
    """
    counts: Counter[str] = Counter()
    for name in long:
        for prefix in _prefixes(name):
            if name[len(prefix) + 1 :] in short:
                counts[prefix] += 1
    return sorted(counts.items(), key=lambda item: (len(item[0]), item[0]))
