"""Reports that were saved: read from a file, also for a check that compares with one."""

from __future__ import annotations

import dataclasses
import errno
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hookcli.errors import RequestError

if TYPE_CHECKING:
    from hookcli.report.model import Report
    from hookcli.rules.check import CheckSpec

_DEVICE = 1 << 24  # bytes of a device, which may have no end
_HINT = "write a report with: hookcli inspect MODEL -f json=report.json"


def read_file(path: str) -> bytes:
    """All that a file, a pipe or a device holds.

    Raises
    ------
    OSError : it cannot be read, or has no end, as /dev/zero.

    """
    with Path(path).open("rb") as file:
        if not stat.S_ISCHR(os.fstat(file.fileno()).st_mode):
            return file.read()
        data = file.read(_DEVICE + 1)  # a terminal ends; who types a report there may
    if len(data) > _DEVICE:
        raise OSError(errno.EFBIG, "it is a device without an end", path)
    return data


def read_report(path: str) -> Report:
    """A report from a file; `-` is stdin.

    Raises
    ------
    RequestError : there is none, or it is no report.

    """
    from hookcli.report.schema import check_order, from_json

    place = path or "''"
    try:
        text = sys.stdin.buffer.read() if path == "-" else read_file(path)
    except OSError as error:
        raise RequestError(
            f"{place} cannot be read: {error.strerror}", place=place, hint=_HINT
        ) from None
    try:
        found = from_json(text)
        check_order(found)
        return found
    except ValueError as error:
        raise RequestError(
            f"{path} is no hookcli report: {error}", place=path, hint=_HINT
        ) from None


def with_saved(check: CheckSpec) -> CheckSpec:
    """A check with the report that it compares with, read.

    Raises
    ------
    RequestError : it cannot be.

    """
    if check.rule != "same_as" or "saved" in check.options:
        return check
    saved = read_report(check.options["report"])
    return dataclasses.replace(check, options={**check.options, "saved": saved})
