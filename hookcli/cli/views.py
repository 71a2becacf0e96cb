"""The view flags → `View`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookcli.cli.ci import source_root
from hookcli.cli.values import parse_columns, parse_kinds
from hookcli.console import Console

if TYPE_CHECKING:
    from hookcli.formats.view import View


def view_of(command: str | None, given: Mapping[str, Any], console: Console) -> View:
    """How to show a report, from a command's parameters by their names.

    `command` is the one that runs, None where a saved report is shown: there `--kinds` picks the
    events to show, while a run's says what to hook.

    Raises
    ------
    RequestError : a column or a kind of hook is unknown.

    """
    from hookcli.formats.view import View

    kinds = parse_kinds(given["kinds"]) if command is None else None
    root, start = source_root()
    return View(
        width=console.width(),
        unicode=console.unicode(),
        color=console.colored(),
        depth=given["depth"],
        only=given["only"],
        columns=parse_columns(given["columns"], command),
        sort=given["sort"],
        phase=given.get("phase"),
        kinds=None if kinds == ("all",) else kinds,
        root=root,
        start=start,
    )
