"""What `hookcli follow` shows of a run: its state, its curves, its layers and its findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hookcli.cli.following.followed_run import FollowedRun, RunState
from hookcli.console import escape
from hookcli.formats.check.merged import merged
from hookcli.formats.document import common
from hookcli.formats.document.document import Block, Document, LinesBlock, SectionBlock
from hookcli.formats.document.terminal import brief
from hookcli.formats.order import measured
from hookcli.formats.parts.sparkline import sparkline
from hookcli.formats.parts.text import figure
from hookcli.formats.parts.verdict import nothing_in_steps
from hookcli.formats.training import facts
from hookcli.formats.view import View
from hookcli.report.report import Report
from hookcli.report.steps import StepRow
from hookcli.report.values import Number

_CURVES = (("loss", "loss"), ("grad norm", "grad_norm"), ("lr", "lr"))
_LABEL = 11  # columns
_WIDEST = 60  # columns of a curve
_MARGIN = 26  # columns beside a curve
_LAYERS = 2  # parameters with the largest gradients
_RECORDS = 4
_MINUTE, _HOUR = 60, 3600


def render(runs: Sequence[FollowedRun], view: View) -> str:
    """Return the text of all runs, one below the other."""
    return "\n\n".join(brief(build(run, view), view).rstrip("\n") for run in runs) + "\n"


def build(run: FollowedRun, view: View) -> Document:
    """Return the document of one run."""
    name = escape(run.script)
    head = SectionBlock(name, [part for part in (_state(run), *_progress(run)) if part])
    report = run.report
    if report is None:
        return Document(name, (head,), [])
    records = report.records[:_RECORDS]
    blocks: list[Block] = [head]
    blocks += [
        LinesBlock([facts.title(record), *_curves(record, view), *_layers(record)])
        for record in records
    ]
    blocks.append(common.verdict(merged(report), nothing_in_steps(report)))
    return Document(name, tuple(blocks), [])


def _state(run: FollowedRun) -> str:
    if run.state is RunState.KILLED:
        return "no end was recorded"
    if run.state is RunState.STARTING:
        return "no step yet"
    return "" if run.report is None else facts.ending(run.report)


def _progress(run: FollowedRun) -> Iterator[str]:
    """Yield how far the run is, how fast it is, and how old that is."""
    if run.steps():
        yield f"step {run.steps() - 1:,}"
    speed = run.speed()
    if speed is not None:
        yield f"{speed:.3g} steps/s"
    if run.state is not RunState.ENDED:
        age = run.age()
        what = "began" if run.state is RunState.STARTING else "last entry"
        yield "the clock was set back" if age is None else f"{what} {_duration(age)} ago"


def _duration(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    return f"{seconds / _HOUR:.1f} h"


def _curves(record: Report, view: View) -> Iterator[str]:
    rows = facts.training_of(record).steps
    for label, name in _CURVES:
        yield from curve(label, [getattr(row, name) for row in rows], view)
    sampled = [row for row in rows if row.update_ratio is not None]
    if sampled:
        yield _line("update", _last(sampled))


def _last(rows: Sequence[StepRow]) -> str:
    return f"ratio {figure(rows[-1].update_ratio)} at step {rows[-1].step:,}"


def curve(label: str, values: Sequence[Number | None], view: View) -> Iterator[str]:
    """Yield the line of a curve, if a value is known: its bars, and the last value."""
    if not any(value is not None for value in values):
        return
    width = max(8, min(_WIDEST, view.width - _MARGIN))
    bars = sparkline([measured(value) for value in values], width, unicode=view.unicode)
    last = next(value for value in reversed(values) if value is not None)
    yield _line(label, f"{bars.ljust(min(width, len(values)))}  {figure(last)}")


def _line(label: str, text: str) -> str:
    return f"  {label.ljust(_LABEL)}{text}"


def _layers(record: Report) -> Iterator[str]:
    """Yield the parameters with the largest gradients in the last step in detail."""
    norms: list[tuple[float, str]] = []
    for row in record.parameters:
        grad = row.grad or {}
        norm = measured(grad.get("norm"))
        if norm is not None:
            norms.append((norm, row.name))
    if norms:
        norms.sort(reverse=True, key=lambda pair: pair[0])
        named = [f"{escape(name)} {figure(norm)}" for norm, name in norms[:_LAYERS]]
        sampled = facts.training_of(record).sampled
        when = f" at step {sampled[-1]:,}" if sampled else ""
        yield _line("layers", f"largest gradients{when}: {', '.join(named)}")
    for problem in facts.problems(record):
        yield _line("", problem)
