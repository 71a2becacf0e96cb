"""Makes a failing case smaller while it fails in the same way."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator

from tests.fuzz.case import Case


def shrunk(case: Case, fails: Callable[[Case], bool], seconds: float = 20) -> Case:
    """The case with fewer arguments, files and bytes, found within so many seconds."""
    until = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(case):
            if time.monotonic() > until:
                return case
            if fails(candidate):
                case, smaller = candidate, True
                break
    return case


def _candidates(case: Case) -> Iterator[Case]:
    for size in (2, 1):
        for i in range(1, len(case.arguments) - size + 1):
            fewer = (*case.arguments[:i], *case.arguments[i + size :])
            yield dataclasses.replace(case, arguments=fewer)
    for name in case.files:
        fewer_files = {other: data for other, data in case.files.items() if other != name}
        yield dataclasses.replace(case, files=fewer_files)
    data = case.files.get(case.damaged, b"")
    size = len(data) // 2
    while size:
        for start in range(0, len(data), size):
            less = {**case.files, case.damaged: data[:start] + data[start + size :]}
            yield dataclasses.replace(case, files=less)
        size //= 2
