"""`hookcli render`: a saved report in another format."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from hookcli.cli import options
from hookcli.cli.errors import reporting
from hookcli.cli.flag_values import view_of
from hookcli.cli.output import deliver, parse_targets
from hookcli.console import Console
from hookcli.errors import Status
from hookcli.report.files import read_report


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
        found = read_report(report)
        view = dataclasses.replace(
            view_of(None, context.params, console),
            fail_on="error" if found.command == "check" else "never",  # as the command has it
        )
        deliver(found, targets, view, console)
        return Status.FINE

    return reporting(console, command)
