"""`hookcli grads`: the gradient that reached every parameter and every layer."""

from __future__ import annotations

from typing import Annotated

import typer

from hookcli.cli.execute import run_and_report
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, RequestFlags, ViewFlags, rows_of
from hookcli.cli.flags.signatures import changes, lacks


def grads(
    context: typer.Context,
    flags: Annotated[RequestFlags, lacks("tensors", "hooks"), changes("mode", default="train")],
    view: Annotated[ViewFlags, lacks("phase"), rows_of("grads", sort="How to order the rows.")],
    output: OutputFlags,
    console: ConsoleFlags,
) -> int:
    """Show the gradient that reached every parameter.

    The model is built and run forward and backward, on real tensors, in a process of its own.
    """
    return run_and_report(
        context, "grads", flags, view=view, output=output, console=console.console()
    )
