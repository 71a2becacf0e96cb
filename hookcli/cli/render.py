"""`hookcli render`: a saved report in another format."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hookcli.cli import options
from hookcli.cli.output import deliver, parse_targets
from hookcli.cli.reporting import reporting
from hookcli.cli.views import view_of
from hookcli.console import Console
from hookcli.errors import RequestError, Status

if TYPE_CHECKING:
    from hookcli.report.model import Report


def read_report(path: str) -> Report:
    """A report from a file; `-` is stdin.

    Raises
    ------
    RequestError : there is none, or it is no report.

    """
    import sys

    from hookcli.report.schema import check_order, from_json

    try:
        text = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise RequestError(
            f"{path} cannot be read: {error.strerror}",
            place=path,
            hint="write a report with: hookcli inspect MODEL -f json=report.json",
        ) from None
    try:
        found = from_json(text)
        check_order(found)
        return found
    except ValueError as error:
        raise RequestError(
            f"{path} is no hookcli report: {error}",
            place=path,
            hint="write a report with: hookcli inspect MODEL -f json=report.json",
        ) from None


def render(
    context: typer.Context,
    report: Annotated[
        str, typer.Argument(metavar="REPORT.json", help="A saved report; - is stdin.")
    ],
    kinds: options.ShownKinds = None,
    phase: options.Phase = None,
    depth: options.Depth = None,
    only: options.Only = None,
    columns: options.AnyColumns = None,
    sort: options.AnySorted = None,
    formats: options.Formats = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.Color = "auto",
) -> int:
    """Show a saved report again, in any format. Nothing is run."""
    console = Console(color=color, quiet=quiet, verbose=verbose)

    def command() -> int:
        targets = parse_targets(formats, output, read=[report])
        view = view_of(None, context.params, console)
        deliver(read_report(report), targets, view, console)
        return Status.FINE

    return reporting(console, command)
