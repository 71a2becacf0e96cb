"""`hookcli inspect`: the forward of every module."""

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
from hookcli.cli.watch.watching import run_command
from hookcli.cli.weights.weights_request import WeightsFlags, inspect_weights, weights_named

EXAMPLES = (
    ("every layer: shapes, parameters, mult-adds", "hookcli inspect model.py"),
    (
        "other columns, the layers with the most parameters first",
        "hookcli inspect model.py --columns layer,params,macs --sort params",
    ),
    (
        "the memory of training with another batch and optimizer",
        "hookcli inspect model.py --what-if batch=32,optimizer=adamw",
    ),
    ("a table on stdout, JSON in a file", "hookcli inspect model.py -f table -f json=report.json"),
)


def inspect(
    flags: Annotated[
        RequestFlags, lacks("hooks", "cost", "ranks", "samples"), changes("mode", default="eval")
    ],
    view: Annotated[
        ViewFlags,
        lacks("phase"),
        rows_of("inspect", sort="Show rows without the tree, the largest first."),
    ],
    weights: WeightsFlags,
    output: OutputFlags,
    watch: WatchFlags,
    console: ConsoleFlags,
) -> int:
    """Show every layer: shapes, parameters, cost and order of calls.

    The model is built and its forward runs once, in a separate process. Of a file of weights the
    tensors are shown.
    """
    shown = console.console()
    source = weights_named(flags)
    if source is None:
        return run_and_report(
            "inspect", flags, view=view, output=output, watch=watch, console=shown
        )
    return run_command(
        watch,
        output,
        shown,
        lambda: inspect_weights(
            source, flags, view=view, output=output, no_values=weights.no_values, console=shown
        ),
    )
