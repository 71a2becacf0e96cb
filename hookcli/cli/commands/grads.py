"""`hookcli grads`: the gradient of every parameter and every layer."""

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
    ("the gradient norm of every parameter", "hookcli grads model.py"),
    ("sorted by the norm of the gradient", "hookcli grads model.py --sort norm"),
    ("another loss: the mean of the outputs", "hookcli grads model.py --loss mean"),
    ("two ranks in DistributedDataParallel", "hookcli grads model.py --nproc 2"),
)


def grads(
    flags: Annotated[
        RequestFlags, lacks("tensors", "hooks", "memory"), changes("mode", default="train")
    ],
    view: Annotated[ViewFlags, lacks("phase"), rows_of("grads")],
    output: OutputFlags,
    watch: WatchFlags,
    console: ConsoleFlags,
) -> int:
    """Show the gradient of every parameter.

    The model is built and runs forward and backward with real tensors, in a separate process.
    """
    return run_and_report(
        "grads", flags, view=view, output=output, watch=watch, console=console.console()
    )
