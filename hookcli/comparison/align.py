"""Align the names of A and B: equal, or equal without one prefix and the names of wrappers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from hookcli.report.ranks.wrapper_names import without_wrappers

_DEEPEST = 4  # names in a prefix


@dataclass(frozen=True, slots=True)
class Alignment:
    """The prefix of names in A or B that the other does not have: "model" for `model.fc`.

    At most one of the two is not empty.
    """

    prefix_a: str = ""
    prefix_b: str = ""

    def canonical_a(self, name: str) -> str | None:
        """Return a name in A without its prefix; None if it does not have the prefix."""
        return _stripped(name, self.prefix_a)

    def canonical_b(self, name: str) -> str | None:
        """Return a name in B without its prefix; None if it does not have the prefix."""
        return _stripped(name, self.prefix_b)

    def pairs(self, names_a: Iterable[str], names_b: Iterable[str]) -> dict[str, str]:
        """Map names in A to names in B, each at most once; without the prefix, to equal names."""
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
        free -= set(partners.values())
        plain = {
            without_wrappers(self.canonical_b(name) or name): name for name in there if name in free
        }
        for name in (one for one in left if one not in partners):
            partner = plain.pop(without_wrappers(self.canonical_a(name) or name), None)
            if partner is not None:
                partners[name] = partner
        return partners


def _stripped(name: str, prefix: str) -> str | None:
    if not prefix:
        return name
    if name == prefix:
        return ""
    return name[len(prefix) + 1 :] if name.startswith(f"{prefix}.") else None


def _prefixes(name: str) -> Iterator[str]:
    """Yield the prefixes of a name: `model` and `model.net` of `model.net.fc`."""
    end = -1
    for _ in range(_DEEPEST):
        end = name.find(".", end + 1)
        if end < 0:
            return
        yield name[:end]


def align(names_a: Collection[str], names_b: Collection[str]) -> Alignment:
    """Return the alignment that pairs the most names; without a prefix if that pairs as many.

    Names are qualified names of parameters and modules.
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
    """Return each prefix of the long names, with the number of pairs without it, shortest first."""
    counts: Counter[str] = Counter()
    for name in long:
        for prefix in _prefixes(name):
            if name[len(prefix) + 1 :] in short:
                counts[prefix] += 1
    return sorted(counts.items(), key=lambda item: (len(item[0]), item[0]))
