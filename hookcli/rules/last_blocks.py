"""Parameters of the last block of a chain, whose equal ones in the blocks before it are trained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hookcli.report.report import Report
from hookcli.rules.select import modules_above

_TRAINED = "ok"


class LastBlocks:
    """The blocks of a report that are the last ones in their lists, each after equal ones."""

    def __init__(self, report: Report) -> None:
        self._types = {row.name: row.type for row in report.layers if row.name is not None}
        self._status = {row.name: row.status for row in report.parameters}
        self._trained = {
            module
            for name, status in self._status.items()
            if status == _TRAINED
            for module in modules_above(name)
        }

    def before(self, names: Iterable[str]) -> str | None:
        """Return the block before the last one, if only the last one lacks these gradients.

        Other parameters of the last block have a gradient: nothing needs a part of its results, as
        the backcast of the last block of N-BEATS.
        """
        found = {self._before(name) for name in names}
        return found.pop() if len(found) == 1 else None

    def _before(self, name: str) -> str | None:
        for block in modules_above(name):
            earlier = list(self._earlier(block))
            if not earlier or block not in self._trained:
                continue
            rest = name[len(block) :]
            if all(self._status.get(other + rest) == _TRAINED for other in earlier):
                return earlier[-1]
        return None

    def _earlier(self, block: str) -> Iterator[str]:
        """Yield the blocks of the same class before a block; none if another one follows it."""
        where, _, number = block.rpartition(".")
        prefix = f"{where}." if where else ""
        if not number.isdecimal() or f"{prefix}{int(number) + 1}" in self._types:
            return
        for i in range(int(number)):
            other = f"{prefix}{i}"
            if self._types.get(other) == self._types.get(block) is not None:
                yield other
