"""A plugin of pytest that records which functions each test reaches: `-p tests.near.recorder`.

It is loaded before the package is imported. Each process of pytest-xdist appends to a file of its
own in `RECORDS`, a line for each test.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path

import pytest

from tests.near import marks
from tests.times import processor_seconds

RECORDS = marks.ROOT / "build" / "near" / "records"
_file = Path(tempfile.mkdtemp(prefix="near")) / "reached"
_file.write_bytes(bytes(marks.size()))
os.environ[marks.VARIABLE] = str(_file)
_reached = marks.install()
_start = pytest.StashKey[float]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin with no function reached."""
    _reached[:] = bytes(len(_reached))
    item.stash[_start] = processor_seconds()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    """Write what the test reached, fixtures included."""
    report = yield
    if call.when == "teardown" and _start in item.stash:
        seconds = round(processor_seconds() - item.stash[_start], 4)
        numbers = [found.start() for found in re.finditer(b"\1", _reached[:])]
        row = {"test": item.nodeid, "seconds": seconds, "reached": numbers}
        RECORDS.mkdir(parents=True, exist_ok=True)
        with (RECORDS / f"{os.getpid()}.jsonl").open("a") as file:
            print(json.dumps(row), file=file)
    return report
