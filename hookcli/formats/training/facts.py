"""What a record of a training says in a few figures: losses, norms, parameters without gradient."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from hookcli.console import escape
from hookcli.formats.document.document import SectionBlock
from hookcli.formats.order import measured
from hookcli.formats.parts.short_names import shortened
from hookcli.formats.parts.text import cut, figure, place
from hookcli.formats.training import joined
from hookcli.report.report import Report
from hookcli.report.steps import StepRow, TrainingInfo
from hookcli.report.training import ScriptInfo, TrainingReport
from hookcli.report.values import Number
from hookcli.rules.training.series import statuses, trained_between
from hookcli.text import counted, join_names, shorten

_MOST = 3  # names of parameters
_WIDEST = 40  # characters of a name
_LONGEST = 200  # characters of a command line, or of an error
_PROBLEMS = (
    ("none", "no gradient in"),
    ("zero", "zero gradient in"),
    ("non_finite", "non-finite in"),
    ("frozen", "frozen:"),
)


def training_of(record: Report) -> TrainingInfo:
    """Return the steps of a record.

    Raises
    ------
    ValueError : the report is not a record of a training.
    """
    if record.training is None:
        raise ValueError("a record of a training must have `training`")
    return record.training


def title(record: Report) -> str:
    """Return the name of a record with its type and its optimizer: netG (Generator, Adam)."""
    info = training_of(record)
    _, mark, number = info.record.removeprefix(info.root).rpartition(" #")
    name = f"{info.root}{mark}{number}" if mark and number.isdigit() else info.root
    kind = "no optimizer" if info.optimizer is None else info.optimizer.type
    words = [word for word in (info.root_type, kind) if word]
    more = [word for i, word in enumerate(words) if word not in (info.root, *words[:i])]
    return f"{_short(name)} ({', '.join(map(_short, more))})" if more else _short(name)


def section(record: Report) -> SectionBlock:
    """Return the start of the part of a record."""
    where = place(record.model.place) if record.model.place else ""
    return SectionBlock(title(record), figures(record), problems(record), where)


def figures(record: Report) -> list[str]:
    """Return what happened in the steps of a record, in short phrases."""
    info = training_of(record)
    parts = [_steps(info), _micro_steps(info.steps), _loss(info.steps)]
    parts += [_norms(info.steps)]
    parts += [_rate(info.steps)]
    parts += [_range("update ratio", (row.update_ratio for row in info.steps))]
    parts += [f"{counted(info.skipped, 'step')} skipped"] if info.skipped else []
    parts += [_change("scale", [row.scale for row in info.steps])]
    if info.wrappers:
        parts.append(f"in {' of '.join(_short(name) for name in info.wrappers)}")
    parts += joined.phrases(info)
    return [part for part in parts if part]


def is_clipped(row: StepRow) -> bool:
    """Return whether clipping made the gradients of a step smaller."""
    before, after = row.unclipped_norm, row.grad_norm
    both = isinstance(before, int | float) and isinstance(after, int | float)
    return both and before > after * (1 + _CLOSE)  # type: ignore[operator]


_CLOSE = 1e-3  # relative difference of two norms of the same gradients


def _norms(steps: Sequence[StepRow]) -> str:
    """Return the range of gradient norms, and before clipping if that made some smaller."""
    norms = _range("gradient norm", (row.grad_norm for row in steps))
    if not any(map(is_clipped, steps)):
        return norms
    before = _range("", (row.unclipped_norm for row in steps)).strip()
    return f"{norms} ({before} before clipping)"


def problems(record: Report) -> list[str]:
    """Return which parameters have no gradient, zeros, values that are not finite, or are frozen.

    None or zeros only count if no step has given the parameter another gradient.
    """
    by_status: dict[str, list[str]] = {}
    changed = trained_between(record)
    for row in record.parameters:
        reached = row.name in changed or any(status == "ok" for _, status in statuses(row))
        if row.status == "non_finite" or not reached:
            by_status.setdefault(row.status or "", []).append(row.name)
    return [
        f"{what} {len(names)} of {counted(len(record.parameters), 'parameter')}: {_names(names)}"
        for status, what in _PROBLEMS
        if (names := by_status.get(status))
    ]


def _short(name: str) -> str:
    return cut(escape(name), _WIDEST)


def _names(names: Sequence[str]) -> str:
    """Return the first names, each shortened so that it differs from the others."""
    first = [escape(name) for name in names[:_MOST]]
    forms = shortened(first, _WIDEST)
    rest = len(names) - len(first)
    listed = [forms[name] for name in first]
    return join_names(listed, len(listed)) + (f" and {rest:,} more" if rest else "")


def _steps(info: TrainingInfo) -> str:
    if info.unit == "backward":
        return counted(info.total, "backward pass", "backward passes")
    merged = "" if info.optimizer is None or info.optimizer.merged == 1 else (
        f" of {info.optimizer.merged:,} optimizers"
    )  # fmt: skip
    return counted(info.total, "step") + merged


def _micro_steps(rows: Sequence[StepRow]) -> str:
    """Return the number of backward passes of most steps, if it is not one."""
    counts = Counter(row.backwards for row in rows)
    usual = max(counts, key=lambda number: (counts[number], -number), default=1)
    return "" if usual in {0, 1} else f"{usual:,} backward passes each"


def _loss(rows: Sequence[StepRow]) -> str:
    """Return the loss; of joined ranks that of the first one, and the mean of all."""
    own = _own_loss(rows)
    if not own or all(row.mean_loss is None for row in rows):
        return own
    means = [row.loss if row.mean_loss is None else row.mean_loss for row in rows]
    return f"{own} ({_change('mean of the ranks', means)})"


def _own_loss(rows: Sequence[StepRow]) -> str:
    losses = [row.loss for row in rows if row.loss is not None]
    text = _change("loss", losses)
    bad = sum(isinstance(loss, str) for loss in losses)
    if not bad or len(losses) < 2 or isinstance(losses[-1], str):
        return text
    return f"{text} (not finite in {counted(bad, 'step')})"


def _rate(rows: Sequence[StepRow]) -> str:
    """Return the learning rate, of several groups the largest."""
    rates = [row.lr if row.largest_lr is None else row.largest_lr for row in rows]
    differs = any(rate != row.lr for rate, row in zip(rates, rows, strict=True))
    return _change("largest lr" if differs else "lr", rates)


def _change(word: str, values: Iterable[Number | None]) -> str:
    """Return the first and the last value, or the only one."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    first, last = figure(known[0]), figure(known[-1])
    return f"{word} {first}" if first == last else f"{word} {first} → {last}"


def finite(values: Iterable[object]) -> Iterator[float]:
    """Yield the values that are known and finite."""
    for value in values:
        number = measured(value)
        if number is not None and math.isfinite(number):
            yield number


def _range(word: str, values: Iterable[Number | None]) -> str:
    """Return the smallest and the largest finite value, and how many are not finite."""
    known = [value for value in values if value is not None]
    good = list(finite(known))
    bad = len(known) - len(good)
    if not good:
        return f"{word} not finite" if bad else ""
    low, high = figure(min(good)), figure(max(good))
    text = f"{word} {low}" if low == high else f"{word} {low} to {high}"
    return f"{text} (not finite in {counted(bad, 'step')})" if bad else text


def command_line(script: ScriptInfo) -> str:
    """Return the script with its arguments, as they were typed."""
    words = (*(("-m",) if script.is_module else ()), script.name, *script.arguments)
    return shorten(" ".join(escape(word) for word in words), _LONGEST)


def _error_of(script: ScriptInfo) -> str:
    error = shorten(escape(script.error or "an exception"), _LONGEST)
    return f"ended with {error}"


_ENDINGS: dict[str, Callable[[TrainingReport], str]] = {
    "completed": lambda report: "completed",
    "exit": lambda report: f"exit status {report.script.status}",
    "exception": lambda report: _error_of(report.script),
    "interrupted": lambda report: "interrupted",
    "max_steps": lambda report: f"ended by --max-steps {report.tracking.max_steps}",
    "stopped": lambda report: f"stopped by --stop-on {escape(report.tracking.stop_on or '')}",
    "signal": lambda report: f"ended by {escape(report.script.error or 'a signal')}",
    "running": lambda _report: "still running",
    "unknown": lambda _report: "no end was recorded",
}


def ending(report: TrainingReport) -> str:
    """Return how the script ended, in a phrase."""
    return _ENDINGS[report.script.ended](report)


def ranks_of(report: TrainingReport) -> tuple[str, str]:
    """Return "rank" and "0 of 4" of one rank, "ranks" and "0-2 of 4" of a joined report."""
    infos = [record.training for record in report.records if record.training is not None]
    joined = next((info.joined for info in infos if info.joined is not None), None)
    if joined is None or joined.count < 2:
        return "rank", f"{report.tracking.rank} of {report.tracking.world_size}"
    return "ranks", f"{escape(joined.ranks)} of {report.tracking.world_size}"


def observed(report: TrainingReport) -> str:
    """Return how many steps were observed, and how."""
    tracking = report.tracking
    rank = f", {' '.join(ranks_of(report))}" if tracking.world_size > 1 else ""
    eager = ", compiler off" if tracking.eager else ""
    infos = [training_of(record) for record in report.records]
    if not infos:
        return f"no training was seen{rank}{eager}"
    counted_ones = _counted_once(infos)
    # A step that an exception has interrupted has begun in detail, and is not counted.
    detailed = sum(min(len(info.sampled), info.total) for info in counted_ones)
    total = sum(info.total for info in counted_ones)
    unit = "pass" if all(info.unit == "backward" for info in infos) else "step"
    steps = counted(total, unit, "passes" if unit == "pass" else None)
    return f"{detailed:,} of {steps} in detail ({escape(tracking.steps)}){rank}{eager}"


def _counted_once(infos: Sequence[TrainingInfo]) -> list[TrainingInfo]:
    """Return one record for the same steps, which may train several roots."""
    names: set[str] = set()
    found = []
    for info in infos:
        if names.isdisjoint(info.shared or ()):
            found.append(info)
        names.add(info.record)
    return found
