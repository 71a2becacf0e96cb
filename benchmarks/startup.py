"""How long the command line needs before it does anything."""

from __future__ import annotations

import sys

from benchmarks.section import Figure, Section, Table, ratio
from benchmarks.timing import HOOKCLI, Command, alternate, medians

HOW = "Whole processes. Help, and an error in the flags, must not import torch."
COMMANDS = (
    Command("`python -c 'import torch'`", (sys.executable, "-c", "import torch")),
    Command("`hookcli --help`", (HOOKCLI, "--help")),
    Command("`hookcli inspect --help`", (HOOKCLI, "inspect", "--help")),
    Command("`python -c pass`", (sys.executable, "-c", "pass")),
)


def measure(rounds: int) -> Section:
    found = {name: medians(runs) for name, runs in alternate(COMMANDS, rounds).items()}
    torch, plain, inspect, _ = (found[command.name].wall for command in COMMANDS)
    rows = tuple((name, f"{one.wall:.3f}", ratio(one.wall, torch)) for name, one in found.items())
    return Section(
        "Help",
        HOW,
        (Table(("process", "s", "relative to `import torch`"), rows),),
        (
            Figure("`hookcli --help`, relative to `import torch`", plain / torch, 0.25),
            Figure("`hookcli inspect --help`, relative to `import torch`", inspect / torch, 0.25),
        ),
    )
