"""Read saved reports, also for checks that compare with one."""

from __future__ import annotations

import dataclasses
import sys
from typing import TYPE_CHECKING

from hookcli.errors import RequestError
from hookcli.plain_files import read_bytes
from hookcli.sentences import cannot_read

if TYPE_CHECKING:
    from hookcli.report.report import Report
    from hookcli.spec.checks import CheckSpec

_HINT = "run `hookcli inspect MODEL -f json=report.json` to write a report"


def read_report(path: str) -> Report:
    """Read a report from a file; `-` is stdin.

    Raises
    ------
    RequestError : the file cannot be read, or is not a report.

    """
    from hookcli.report.schema import from_json
    from hookcli.report.validity import check_valid

    place = path or "''"
    try:
        text = sys.stdin.buffer.read() if path == "-" else read_bytes(path)
    except OSError as error:
        raise RequestError(cannot_read(place, error.strerror), place=place, hint=_HINT) from None
    try:
        report = from_json(text, strict=True)
        check_valid(report, text)
        return report
    except ValueError as error:
        raise RequestError(
            f"{path} is not a hookcli report: {error}", place=path, hint=_HINT
        ) from None


def with_saved(check: CheckSpec) -> CheckSpec:
    """Return a check with the report that it compares with, read from its file.

    Raises
    ------
    RequestError : the file cannot be read, or is not a report.

    """
    if check.rule != "same_as" or "saved" in check.options:
        return check
    saved = read_report(check.options["report"])
    return dataclasses.replace(check, options={**check.options, "saved": saved})
