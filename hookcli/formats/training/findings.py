"""What is said below the records of a training: the first non-finite value, and notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hookcli.console import escape
from hookcli.formats.document.document import Problem, ProblemsBlock
from hookcli.formats.parts.compiler import break_lines
from hookcli.formats.parts.summary import join_alike, neutral
from hookcli.formats.parts.text import count, figure, place, shape
from hookcli.formats.training.facts import training_of
from hookcli.known_failures import training_hint
from hookcli.report.report import Report
from hookcli.report.training import FirstNonFinite, OtherModule, TrainingReport
from hookcli.text import counted, join_names

_MOST = 3  # modules that no optimizer trains, and inputs of an operator


FIRST = "first non-finite"
FINITE = "finite"  # the rule whose diagnosis tells where the value was made
UNHELD = "unheld_parameters"


def problems(report: TrainingReport) -> ProblemsBlock:
    """Return the first value that is not finite, with what is known of it as details."""
    first = first_non_finite(report)
    return ProblemsBlock([Problem(*first[0], first[1:])] if first else [])


def first_non_finite(report: TrainingReport) -> list[tuple[str, str]]:
    """Return (label, text) lines about the first value that is not finite; [] if all are finite.

    The first line has the label `FIRST`; the others are details of it. What the verdict tells is
    not repeated.
    """
    first = report.first_non_finite
    if first is None:
        return []
    told = any(FINITE in diagnosis.rules for diagnosis in report.diagnoses or ())
    what = f"the {first.what} of step {first.step:,}"
    if len(report.records) > 1:
        what += f" of {escape(first.record)}"
    place_of = made(first)
    lines = [(FIRST, what if told or not place_of else f"{what}, {place_of}")]
    if first.inputs:
        inputs = [tensor(value) for value in first.inputs]
        lines.append(("inputs", join_names(inputs, _MOST)))
    if first.reason and not told:
        lines.append(("reason", escape(" ".join(first.reason.split()))))
    if first.batch is not None:
        lines.append(("batch", escape(first.batch)))
    return lines


_FOUND_BY = {
    "gradients": "as the gradients of parameters show",
    "parameters": "as values of parameters were not finite before the step",
}


def made(first: FirstNonFinite) -> str:
    """Return where the value was made, as far as that is known; "" if nothing is."""
    parts = [f"in {first.phase}"] if first.phase else []
    parts += [f"by {escape(first.operator)}"] if first.operator else []
    if first.layer is not None:
        parts += [f"in layer '{escape(first.layer)}'" if first.layer else "in the root"]
    parts += [f"at {place(first.place)}"] if first.place else []
    phrases = ["made " + " ".join(parts)] if parts else []
    phrases += [_FOUND_BY[first.found_by]] if first.found_by in _FOUND_BY else []
    return ", ".join(phrases)


def tensor(value: Mapping[str, Any]) -> str:
    """Return an input of the operator: its dtype, shape and finite range, as far as known."""
    sizes = value.get("shape")
    words = [escape(str(value[key])) for key in ("name", "dtype") if value.get(key)]
    if isinstance(sizes, list | tuple):
        known = tuple(size if isinstance(size, int) else None for size in sizes)
        words.append(shape(known))
    low, high = value.get("min"), value.get("max")
    if low is not None and high is not None:
        words.append(f"{figure(low)} to {figure(high)}")
    bad = [f"{count(value[key])} {word}" for key, word in _BAD.items() if value.get(key)]
    return " ".join(words + (["with", " and ".join(bad)] if bad else [])) or "a tensor"


_BAD = {"nans": "NaN", "infs": "Inf"}


def notes(report: TrainingReport) -> list[str]:
    """Return the notes about a training: what was not seen, and what no optimizer trains."""
    lines = []
    if report.script.ended == "exception" and report.script.error is not None:
        hint = training_hint(report.script.error)
        lines += [] if hint is None else [hint]
    if report.tracking.detached:
        reason = escape(" ".join(report.tracking.detached.split()))
        lines.append(f"hookcli stopped observing: {reason}")
    lines += [*neutral(report), *(escape(warning) for warning in report.warnings)]
    told = any(UNHELD in diagnosis.rules for diagnosis in report.diagnoses or ())
    for record in report.records:
        name = f"{escape(training_of(record).record)}: " if len(report.records) > 1 else ""
        others = _elsewhere(record, report.records)
        lines += [f"{name}{note}" for note in _of_record(record, others, told=told)]
    lines += _others(report.others, failed=report.script.ended == "exception")
    if report.compiler is not None:
        lines += break_lines(report.compiler)
    return list(dict.fromkeys(lines))


def _elsewhere(record: Report, records: Sequence[Report]) -> int:
    """Return how many tensors the optimizer of a record has that are of none of its roots."""
    info = training_of(record)
    if info.optimizer is None:
        return 0
    others = [training_of(one).optimizer for one in records if one.training is not None
              and one.training.record in (info.shared or ())]  # fmt: skip
    held = sum(one.parameters - one.elsewhere for one in others if one is not None)
    return max(0, info.optimizer.elsewhere - held)


def _of_record(record: Report, elsewhere: int, *, told: bool) -> Iterator[str]:
    """Yield the notes about a record; `told`: the verdict has the parameters without optimizer."""
    info = training_of(record)
    yield from (escape(warning) for warning in record.warnings)
    if info.unheld and not told:
        yield f"trainable, but in no optimizer: {join_alike(list(info.unheld))}"
    if elsewhere:
        count = counted(elsewhere, "tensor")
        yield f"the optimizer also has {count} that the root does not have"


def _others(others: Sequence[OtherModule], *, failed: bool) -> Iterator[str]:
    """Yield the note about models without an optimizer; a script that has failed may have one."""
    if others:
        texts = [
            f"{escape(other.name)} ({escape(other.type)}"
            + (f", {counted(other.calls, 'call')})" if other.calls else ")")
            for other in others
        ]
        what = "in no step before the exception" if failed else "trained by no optimizer"
        yield f"called, but {what}: {join_names(texts, _MOST)}"
