"""Slow tests take turns: a push runs a third of them, which the hash of its commit chooses.

`slow_tests.txt` names them. `pytest --whole` runs all, `pytest --turn N` those of another turn, and
tests that the arguments of a session name run always. To write the list anew, run
`pytest --whole --record-times FILE`, then `python -m tests.turns FILE`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SLOW = Path(__file__).with_name("slow_tests.txt")
TURNS = 3
_SLOW = 0.7  # seconds of a test, with all of its cases


def slow_tests() -> frozenset[str]:
    """The names of the slow tests, without their cases."""
    return frozenset(SLOW.read_text().split())


def turn_of(nodeid: str) -> int:
    """The turn of a slow test: cases of one test have different turns."""
    return zlib.crc32(nodeid.encode()) % TURNS


def turn_of_commit() -> int:
    """The turn of the commit that is checked out; 0 where none is known."""
    command = ["git", "rev-parse", "HEAD"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return int(done.stdout, 16) % TURNS if done.returncode == 0 else 0


def of_turn(items: Sequence[pytest.Item], turn: int, slow: frozenset[str]) -> list[pytest.Item]:
    """Return the items without the slow ones of other turns."""
    return [
        one
        for one in items
        if one.nodeid.partition("[")[0] not in slow or turn_of(one.nodeid) == turn
    ]


def is_named(test: str, arguments: Iterable[str]) -> bool:
    """Whether an argument of pytest names the test, its file, or a folder below `tests`."""
    for argument in arguments:
        path = Path(argument.partition("::")[0])
        name = (path.relative_to(ROOT) if path.is_relative_to(ROOT) else path).as_posix()
        if name not in {".", "tests"} and f"{test}/".replace("::", "/").startswith(f"{name}/"):
            return True
    return False


class Turns:
    """A plugin: leaves out the slow tests of other turns, unless an argument names them."""

    def __init__(self, turn: int) -> None:
        self._turn = turn

    def pytest_report_header(self) -> str:
        return f"slow tests: turn {self._turn} of 0 to {TURNS - 1} (--turn N, or --whole for all)"

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect the slow tests of other turns."""
        slow = frozenset(test for test in slow_tests() if not is_named(test, config.args))
        kept = of_turn(items, self._turn, slow)
        left = {id(one) for one in kept}
        config.hook.pytest_deselected(items=[one for one in items if id(one) not in left])
        items[:] = kept


def add_option(parser: pytest.Parser) -> None:
    """Add `--turn`."""
    text = f"run the slow tests of this turn, 0 to {TURNS - 1}; by default, that of the commit"
    parser.addoption("--turn", type=int, choices=range(TURNS), help=text)


def slow_of(rows: Iterable[tuple[str, float]]) -> list[str]:
    """Return the names of the tests whose cases take long, from the times of cases."""
    seconds: Counter[str] = Counter()
    for test, spent in rows:
        seconds[test.partition("[")[0]] += spent
    return sorted(test for test, spent in seconds.items() if spent >= _SLOW)


def main(path: str) -> None:
    """Write the list of slow tests from a file of `--record-times`."""
    rows = [json.loads(line) for line in Path(path).read_text().splitlines()]
    SLOW.write_text("".join(f"{one}\n" for one in slow_of((r["test"], r["cpu"]) for r in rows)))


if __name__ == "__main__":
    main(sys.argv[1])
