"""What the two sides of such a comparison share: the name of a side, and what was compared."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from hookcli.errors import HookcliError
from hookcli.report.report import Report
from hookcli.worker.progress.screen import labelled


@contextlib.contextmanager
def running(side: str, label: str = "") -> Iterator[None]:
    """Show the side while it runs, and add it to the message of an error."""
    try:
        with labelled(label or side):
            yield
    except HookcliError as error:
        error.message = f"{side}: {error.message}"
        raise


def compared_value(report: Report, probe: str) -> dict[str, Any]:
    """Return the value of the measurement of the process that compares."""
    value: dict[str, Any] = next(m.value for m in report.measurements if m.probe == probe)
    return value
