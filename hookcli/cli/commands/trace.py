"""`hookcli trace`: every hook that fired, in its order."""

from __future__ import annotations

from typing import Annotated

import typer

from hookcli.cli.execute import run_and_report
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, RequestFlags, ViewFlags, rows_of
from hookcli.cli.flags.signatures import changes


def trace(
    context: typer.Context,
    flags: Annotated[
        RequestFlags, changes("mode", default="train where it goes backward, else eval")
    ],
    view: Annotated[ViewFlags, rows_of("trace", sort="How to order the rows.")],
    output: OutputFlags,
    console: ConsoleFlags,
) -> int:
    """Show every hook that fires, in the order in which they fire.

    The model is built and run as far as its hooks' kinds need, in a process of its own.
    """
    return run_and_report(
        context, "trace", flags, view=view, output=output, console=console.console()
    )
