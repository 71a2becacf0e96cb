"""`hookcli render`: a saved report in another format."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from hookcli.cli.errors import reporting
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, ViewFlags
from hookcli.cli.flags.signatures import argument, option
from hookcli.cli.flags.values import view_of
from hookcli.cli.output import deliver, parse_targets
from hookcli.errors import Status
from hookcli.report.files import read_report


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFlags:
    """Which report, and which of its events."""

    report: str = argument("A saved report; - is stdin.", metavar="REPORT.json")
    kinds: str | None = option(
        "--kinds", metavar="K,K|all", text="Show only events of these kinds of hooks."
    )


def render(saved: SavedFlags, view: ViewFlags, output: OutputFlags, messages: ConsoleFlags) -> int:
    """Show a saved report again, in any format. Nothing is run."""
    console = messages.console()

    def command() -> int:
        targets = parse_targets(output, read=[saved.report])
        report = read_report(saved.report)
        shown = dataclasses.replace(
            view_of(None, view, console, kinds=saved.kinds),
            fail_on="error" if report.command == "check" else "never",  # as the command has it
        )
        deliver(report, targets, shown, console)
        return Status.FINE

    return reporting(console, command)
