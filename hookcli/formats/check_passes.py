"""Which forwards and backwards a check made, and for which rules, in one line."""

from __future__ import annotations

from typing import Any

from hookcli.console import escape
from hookcli.report.findings import PASSES
from hookcli.report.model import Report


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _said(value: dict[str, Any]) -> str:
    passes = _counted(value["forwards"], "forward")
    if value["backwards"] == value["forwards"]:
        passes += " and backward" if value["forwards"] == 1 else " and backwards"
    elif value["backwards"]:
        passes += f" and {_counted(value['backwards'], 'backward')}"
    rules = ", ".join(map(escape, value["rules"]))
    mode = value["mode"].replace("as-is", "its own")
    return f"{passes} in {mode} mode" + (f" ({rules})" if rules else "")


def performed(report: Report) -> str:
    """As "check ran 1 forward and backward in train mode (finite)"; "" where it is not known."""
    told = [_said(one.value) for one in report.measurements if one.probe == PASSES]
    return f"check ran {', '.join(told)}" if told else ""
