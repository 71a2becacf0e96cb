"""Records the processor time of each test, also that of the processes that it uses.

Usage: `pytest --record-times FILE`. Each line of the file is a test as JSON: its name, its seconds
of processor time and of the clock, and whether it failed. What a fixture of a module costs counts
for the first test that needs it, and so does the start of the server that runs commands.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import time
from pathlib import Path

import pytest

_TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_START = pytest.StashKey[tuple[float, float]]()
_PROPERTY = "processor and wall seconds"


def _living(pid: int) -> float:
    """The processor time of all processes below this one, and of those that they waited for."""
    total = 0.0
    with contextlib.suppress(OSError, ValueError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                with contextlib.suppress(OSError, ValueError):
                    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
                    total += sum(map(int, fields[11:15])) / _TICK
                    total += _living(int(child))
    return total


def processor_seconds() -> float:
    """The processor time of this process and of all that it has started."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + _living(os.getpid())


class Times:
    """A plugin: notes the times where a test runs, and writes them where the session is led."""

    def __init__(self, path: Path, *, leads: bool) -> None:
        self._file = path.open("a") if leads else None
        self._failed: set[str] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        item.stash[_START] = processor_seconds(), time.perf_counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo):
        report = yield
        if call.when == "teardown" and _START in item.stash:
            before, start = item.stash[_START]
            spent = processor_seconds() - before, time.perf_counter() - start
            report.user_properties.append((_PROPERTY, spent))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)
        spent = dict(report.user_properties).get(_PROPERTY)
        if self._file and spent and report.when == "teardown":
            row = {"test": report.nodeid, "cpu": round(spent[0], 4), "wall": round(spent[1], 4)}
            row["failed"] = report.nodeid in self._failed
            print(json.dumps(row), file=self._file, flush=True)


def add_option(parser: pytest.Parser) -> None:
    """Add `--record-times`."""
    text = "write the processor time of each test to this file, as lines of JSON"
    parser.addoption("--record-times", type=Path, metavar="FILE", help=text)
