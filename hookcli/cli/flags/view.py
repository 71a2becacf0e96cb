"""How to show a report: the flags of a view as a View."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookcli.cli.ci import source_root
from hookcli.cli.flags.options import ViewFlags
from hookcli.cli.flags.values import parse_columns, parse_kinds, parse_sort
from hookcli.console import Console

if TYPE_CHECKING:
    from hookcli.formats.view import View


def view_of(
    command: str | None, flags: ViewFlags, console: Console, *, kinds: str | None = None
) -> View:
    """Return how to show a report.

    `command` is the command that runs, or None if a saved report is shown. `kinds` selects the
    events of a saved report.

    Raises
    ------
    RequestError : a column, a kind or the name to sort by is unknown.

    """
    from hookcli.formats.view import View

    picked = parse_kinds(kinds)
    root, start = source_root()
    return View(
        width=console.width(),
        unicode=console.unicode(),
        color=console.colored(),
        depth=flags.depth,
        only=flags.only,
        columns=parse_columns(flags.columns, command),
        sort=parse_sort(flags.sort, command),
        phase=flags.phase,
        kinds=None if picked == ("all",) else picked,
        root=root,
        start=start,
    )
