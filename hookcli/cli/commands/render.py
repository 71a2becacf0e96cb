"""`hookcli render`: a saved report in another format."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from hookcli.cli.errors import reporting
from hookcli.cli.flags import completions
from hookcli.cli.flags.options import ConsoleFlags, OutputFlags, ViewFlags
from hookcli.cli.flags.signatures import argument, option
from hookcli.cli.flags.view import view_of
from hookcli.cli.output import deliver, parse_targets
from hookcli.errors import Status
from hookcli.formats.results import REPORTS
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.report.weights.weights_report import WeightsReport
from hookcli.rules.verdict import FailOn


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFlags:
    """The saved report, and which of its events to show."""

    reports: tuple[str, ...] = argument(
        "A saved report; - reads stdin. A training that still runs, or was killed, has a journal "
        "beside it. Several: those of the ranks of one training, which are joined.",
        metavar="REPORT.json...",
    )
    kinds: str | None = option(
        "--kinds",
        metavar="K,K|all",
        text="Show only events of these kinds of hooks.",
        section="Output",
        complete=completions.kinds,
    )


EXAMPLES = (
    ("save a report, then show it again", "hookcli inspect model.py -f json=report.json"),
    ("as a table, the outer modules only", "hookcli render report.json --depth 1"),
    ("as Markdown, in a file", "hookcli render report.json -f markdown -o report.md"),
    ("join the ranks of a training", "hookcli render run.rank*.json -o run.json"),
)


def _fail_on(report: Report | TrainingReport | WeightsReport) -> FailOn:
    """Return the default of --fail-on of the command that wrote the report."""
    return "error" if isinstance(report, Report) and report.command == "check" else "never"


def _read(files: tuple[str, ...]) -> Report | TrainingReport | WeightsReport:
    if len(files) == 1:
        from hookcli.cli.training.saved_journal import read_judged

        return read_judged(files[0])
    from hookcli.cli.training.joined_files import read_joined

    return read_joined(files)


def render(saved: SavedFlags, view: ViewFlags, output: OutputFlags, messages: ConsoleFlags) -> int:
    """Show a saved report again, in any format. No model runs."""
    console = messages.console()

    def command() -> int:
        targets = parse_targets(
            output, read=saved.reports, console=console, kinds=(*REPORTS, "weights")
        )
        report = _read(saved.reports)
        shown = dataclasses.replace(
            view_of(None, view, console, kinds=saved.kinds),
            fail_on=_fail_on(report),
        )
        deliver(report, targets, shown, console)
        return Status.FINE

    return reporting(console, command)
