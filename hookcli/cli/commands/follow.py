"""`hookcli follow`: a training that runs, as its journal tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from hookcli.cli.errors import reporting
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, output_text
from hookcli.cli.flags.signatures import argument, changes, option
from hookcli.formats.registry import formats_of

EXAMPLES = (
    ("look at a training while it runs; q quits", "hookcli follow run.json"),
    ("two trainings, one below the other", "hookcli follow a.json b.json"),
    ("a page that is written again as the training goes", "hookcli follow run.json -o live.html"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedFlags:
    """The runs, and how often to look."""

    runs: tuple[str, ...] = argument(
        "The output of a run, as `hookcli run -o RUN.json` names it, or its journal. Several are "
        "shown one below the other.",
        metavar="RUN.json...",
    )
    every: float = option(
        "--every",
        least=0.1,
        most=3600,
        metavar="SECONDS",
        text="Time between two looks at the journal.",
        section="Output",
        unset=2.0,
    )


def follow(
    followed: FollowedFlags,
    output: Annotated[
        OutputFlags,
        changes("output", text=output_text(formats_of("run"))),
    ],
    messages: ConsoleFlags,
) -> int:
    """Look at a training while it runs.

    Its losses, gradient norms, speed and findings so far are shown. On a terminal the view is live
    until the training ends or you press q. Else a summary is printed once. With -f or -o, files are
    written again as the training goes.
    """
    console = messages.console()

    def command() -> int:
        from hookcli.cli.following.follow_runs import follow_runs

        return follow_runs(followed.runs, output, console, every=followed.every)

    return reporting(console, command)
