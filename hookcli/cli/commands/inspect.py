"""`hookcli inspect`: every module's forward, observed."""

from __future__ import annotations

from typing import Annotated

import typer

from hookcli.cli.execute import run_and_report
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, RequestFlags, ViewFlags, rows_of
from hookcli.cli.flags.signatures import changes, lacks


def inspect(
    context: typer.Context,
    flags: Annotated[
        RequestFlags, lacks("hooks", "cost", "ranks"), changes("mode", default="eval")
    ],
    view: Annotated[
        ViewFlags,
        lacks("phase"),
        rows_of("inspect", sort="Show rows by themselves, the largest first."),
    ],
    output: OutputFlags,
    console: ConsoleFlags,
) -> int:
    """Show every layer: shapes, parameters, order, who called whom.

    The model is built and run once, forward only, in a process of its own.
    """
    return run_and_report(
        context, "inspect", flags, view=view, output=output, console=console.console()
    )
