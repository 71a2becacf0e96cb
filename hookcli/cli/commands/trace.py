"""`hookcli trace`: every hook that fires, in order."""

from __future__ import annotations

from typing import Annotated

from hookcli.cli.execute import run_and_report
from hookcli.cli.flags.options import (
    ConsoleFlags,
    OutputFlags,
    RequestFlags,
    ViewFlags,
    WatchFlags,
    rows_of,
)
from hookcli.cli.flags.signatures import changes, lacks

EXAMPLES = (
    ("every hook that fires, in order", "hookcli trace model.py"),
    ("only the backward phase", "hookcli trace model.py --phase backward"),
    (
        "other kinds of hooks; `hookcli list hooks` lists them",
        "hookcli trace model.py --kinds forward_pre,forward,tensor",
    ),
    ("a timeline for ui.perfetto.dev", "hookcli trace model.py -f perfetto=trace.json"),
)


def trace(
    flags: Annotated[
        RequestFlags,
        lacks("memory", "samples"),
        changes("mode", default="train if a hook needs backward, else eval"),
    ],
    view: Annotated[ViewFlags, rows_of("trace")],
    output: OutputFlags,
    watch: WatchFlags,
    console: ConsoleFlags,
) -> int:
    """Show every hook that fires, in order.

    The model is built and runs in a separate process: forward, then backward and an optimizer
    step if the hooks need them.
    """
    return run_and_report(
        "trace", flags, view=view, output=output, watch=watch, console=console.console()
    )
