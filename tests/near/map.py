"""Which tests reach which function, and how long they take: a compressed file in `build/near`.

Of each function the map has at most `MOST` tests, those that a search for a defect begins with. A
session that records a part of the tests replaces what the map has of them.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.near import marks

FILE = marks.ROOT / "build" / "near" / "map.json.gz"
MOST = 300


@dataclass(frozen=True, slots=True)
class Map:
    """Tests by the name of a function, and the processor seconds of each test."""

    tests: dict[str, list[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def merged(self, rows: Iterable[dict], names: dict[int, str]) -> Map:
        """Return a map that has these records instead of what this one has of the same tests."""
        seconds, reached = {}, defaultdict(set)
        for row in rows:
            seconds[row["test"]] = row["seconds"]
            for number in row["reached"]:
                reached[names.get(number, "")].add(row["test"])
        kept = {**self.seconds, **seconds}
        known = {*names.values()}
        for function, tests in self.tests.items():
            if function in known:
                reached[function] |= {one for one in tests if one not in seconds}
        tests = {name: ranked(ones, kept)[:MOST] for name, ones in sorted(reached.items()) if name}
        used = {one for ones in tests.values() for one in ones}
        return Map(tests, {one: kept[one] for one in sorted(used)})


def ranked(tests: Iterable[str], seconds: dict[str, float]) -> list[str]:
    """Order tests: the fastest case of each test function, then the second of each, and so on."""
    rounds: Counter[str] = Counter()
    order = []
    for test in sorted(tests, key=lambda one: (seconds.get(one, 1.0), one)):
        function = test.partition("[")[0]
        order.append((rounds[function], len(order), test))
        rounds[function] += 1
    return [test for *_, test in sorted(order)]


def read(path: Path = FILE) -> Map:
    """Return the map; an empty one if there is no file."""
    if not path.exists():
        return Map()
    found = json.loads(gzip.decompress(path.read_bytes()))
    names = [*found["seconds"]]
    return Map(
        {function: [names[i] for i in numbers] for function, numbers in found["tests"].items()},
        found["seconds"],
    )


def write(found: Map, path: Path = FILE) -> None:
    """Write a map; tests are numbers in it."""
    number = {name: i for i, name in enumerate(found.seconds)}
    tests = {function: [number[one] for one in ones] for function, ones in found.tests.items()}
    text = json.dumps({"seconds": found.seconds, "tests": tests}, separators=(",", ":"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
