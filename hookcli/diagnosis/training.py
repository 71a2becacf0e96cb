"""The verdict on a training: the causes of all records, the worst first.

Pure: this runs no model and reads no file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from hookcli.diagnosis.causes import CAUSES, with_target
from hookcli.diagnosis.diagnose import diagnosis_of, explain, rank, unexamined
from hookcli.diagnosis.facts import Cause, Facts, Found
from hookcli.report.findings import CheckRow, Diagnosis
from hookcli.report.report import Report
from hookcli.report.training import TrainingReport
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.finite import FIRST
from hookcli.rules.judge import UNUSED
from hookcli.rules.judge_training import all_checks, judge_training, record_name
from hookcli.rules.script.loss_size import reason_of_size
from hookcli.rules.select import in_record, without_record
from hookcli.rules.training.learning_rate import GROWS
from hookcli.rules.training.reading import reading
from hookcli.rules.training.series import first_bad, series
from hookcli.rules.training.unchanged_parameters import GRADIENT
from hookcli.spec.checks import CheckSpec

_OF_DIVERGENCE = {
    "grad_norm", "grad_norm_grows", "loss_spikes", "loss_falls", "step_spikes", "update_ratio",
}  # fmt: skip
# From a cause to the findings that follow from it; the first that is found explains those of the
# causes below it.
_WITHOUT_GRADIENT = (
    "unchanged_parameters", "grad_exists", "uncalled_modules", "grad_norm", "loss_falls"
)  # fmt: skip
_FOLLOW: tuple[tuple[str, tuple[str, ...]], ...] = (
    (GROWS, tuple(_OF_DIVERGENCE | {"finite", "finite_steps", "grad_norm_spikes"})),
    (
        "loss_scale",
        ("skipped_steps", "optimizer_steps", "unchanged_parameters", "loss_falls", "update_ratio",
         "finite", "finite_steps", "grad_norm", "grad_norm_grows", "grad_norm_spikes"),
    ),
    ("clipping_used", tuple(_OF_DIVERGENCE | {"finite", "finite_steps", "grad_norm_spikes"})),
    ("finite", ("grad_norm",)),
    ("gradients_used", ("optimizer_model", "clipping_used", *_WITHOUT_GRADIENT)),
    (
        "optimizer_model",
        ("unheld_parameters", *_WITHOUT_GRADIENT),
    ),
    ("learning_rate_zero", ("unchanged_parameters", "loss_falls", "update_ratio")),
    ("clipped_norm", ("grad_norm", "update_ratio")),
    ("skipped_steps", ("optimizer_steps", "unchanged_parameters", "loss_falls")),
    ("optimizer_steps", ("loss_falls",)),
    (
        "zero_grad_called",
        ("grad_norm_grows", "loss_falls", "loss_spikes", "update_ratio", "exploding_gradient"),
    ),
    ("vanishing_gradient", ("update_ratio", "unchanged_parameters", "loss_falls")),
    (
        "grad_norm_spikes",
        ("grad_norm_grows", "loss_spikes", "loss_falls", "update_ratio", "grad_norm"),
    ),
    ("grad_norm_grows", ("loss_falls", "loss_spikes", "update_ratio", "grad_norm")),
    ("update_ratio", ("unchanged_parameters", "loss_falls", "loss_spikes")),
    ("loss_spikes", ("loss_falls",)),
)  # fmt: skip
_DIVERGES, _NON_FINITE = (GROWS, "clipping_used"), ("finite", "finite_steps")
_SYMPTOM = "loss_falls"  # its figures are told with the cause
# What grows or does not fall, in one record, may follow from a mistake in another one.
_SYMPTOMS = {"grad_norm", "grad_norm_grows", "loss_falls", "loss_spikes"}
_TOO_LARGE = {
    "update_ratio", "grad_norm", "grad_norm_grows", "grad_norm_spikes", "loss_spikes", "finite",
    "finite_steps",
}  # fmt: skip
_SPIKES = {"grad_norm_spikes", "loss_spikes"}
_ONCE = 1
_STAYS = 0.1  # of the norm of a step, in all later ones


def consequences(facts: Facts) -> Iterator[Found]:
    """Yield the mistakes of a training that other findings follow from."""
    left = list(facts.rows)
    scaled = any(row.rule == "gradients_used" and row.cause == "loss_scale" for row in left)
    unclipped = any(row.rule == "clipping_used" for row in left)
    if scaled or unclipped or _grew_before(facts):
        pass  # the scale, the clipping or the learning rate explains what is large
    elif (overshot := _overshot(facts)) is not None:
        left = [row for row in left if row not in overshot.rows]
        yield overshot
    elif (diverged := _diverged(facts)) is not None:
        left = [row for row in left if row not in diverged.rows]
        yield diverged
    for cause, follow in _FOLLOW:
        if cause == GROWS and not _grew_before(facts):
            continue
        rows = [row for row in left if (row.cause or row.rule) == cause]
        if not rows:
            continue
        rows.sort(key=_telling)
        explained = [row for row in left if row.rule in follow and row not in rows]
        left = [row for row in left if row not in rows and row not in explained]
        if cause in _SPIKES:  # the sentence about the same step may have its samples
            told = [row for row in left if row.rule == "step_spikes" and row.step == rows[0].step]
            left = [row for row in left if row not in told]
            rows = [*told, *rows]
        sentence = with_target(facts, rows[0])
        symptom = next((row for row in explained if row.rule == _SYMPTOM), None)
        bad = facts.report.training and first_bad(facts.report.training)
        if symptom is not None:
            sentence += f"; {symptom.message}"
        elif bad and cause in _DIVERGES and any(row.rule in _NON_FINITE for row in explained):
            sentence += f"; from step {bad.step:,} on, values are not finite"
        yield Found(cause, sentence, rows[0].target, (*rows, *explained))


def _grew_before(facts: Facts) -> bool:
    """Return whether a learning rate grew by far, in front of values that are not finite."""
    grown = next((row for row in facts.rows if row.cause == GROWS), None)
    training = facts.report.training
    first = None if training is None else first_bad(training)
    if grown is None or grown.step is None:
        return False
    return first is None or grown.step < first.step


def _overshot(facts: Facts) -> Found | None:
    """Return steps that replace the parameters, if values are not finite after them."""
    ratios = (row for row in facts.rows if row.rule == "update_ratio")
    large = next((row for row in ratios if row.step is not None), None)  # of a whole step
    bad = [row for row in facts.rows if row.rule in {"finite", "finite_steps"}]
    training = facts.report.training
    first = None if training is None else first_bad(training)
    if large is None or large.step is None or not bad or first is None:
        return None
    if large.step >= first.step:
        return None
    spikes = ("grad_norm_spikes", "learning_rate_zero")
    rest = [row for row in facts.rows if row.rule in {*_OF_DIVERGENCE, *spikes} and row != large]
    sentence = f"{large.message}; from step {first.step:,} on, values are not finite"
    return Found(large.rule, sentence, large.target, (large, *bad, *rest))


def _diverged(facts: Facts) -> Found | None:
    """Return the step whose gradient the training did not survive.

    The norms of the steps between it and the first value that is not finite stay as large, so the
    values follow from the step.
    """
    spike = next((row for row in facts.rows if row.rule == "grad_norm_spikes"), None)
    bad = [row for row in facts.rows if row.rule in {"finite", "finite_steps"}]
    training = facts.report.training
    first = None if training is None else first_bad(training)
    if spike is None or spike.step is None or not bad or training is None or first is None:
        return None
    since = [norm for step, norm in series(training, "grad_norm") if step >= spike.step]
    if not since or min(since) < _STAYS * since[0]:
        return None
    rest = [row for row in facts.rows if row.rule in _OF_DIVERGENCE]
    sentence = f"{spike.message}; from step {first.step:,} on, values are not finite"
    return Found(spike.rule, sentence, spike.target, (spike, *bad, *rest))


def _telling(row: CheckRow) -> tuple[str, int]:
    """Return a sort key, the most telling row first: what made a value, then at which step."""
    known = row.target or row.place or ": " in row.message  # a reason follows the colon
    made = row.rule == "finite" and row.value in FIRST and bool(known)
    return row.severity, 0 if made else 1 if row.rule == "finite_steps" else 2


def without_zero_start(facts: Facts) -> Iterator[Found]:
    """Yield zero weights that no step changes; at a later step others have passed the gradient."""
    from_start = next(cause for cause in CAUSES if cause.__name__ == "zero_initialization")
    training = facts.report.training
    for found in from_start(facts):
        if training is not None and len(training.sampled) > _ONCE:
            advice = "initialize the weights with random numbers, or let the optimizer change them"
            yield dataclasses.replace(found, advice=advice)
        else:
            yield found


_CAUSES: tuple[Cause, ...] = (
    consequences,
    *(without_zero_start if cause.__name__ == "zero_initialization" else cause for cause in CAUSES),
)


def with_training_verdict(report: TrainingReport) -> TrainingReport:
    """Return the report with its diagnoses, and the names of the rules that looked for problems.

    Rows of checks count; rules that are judged for each training, or that diagnose, and have no row
    there are judged. A diagnosis names its record if there are several.
    """
    named = {row.rule for row in all_checks(report)}
    more = tuple(
        CheckSpec(rule.name)
        for rule in CATALOGUE.values()
        if (rule.of_training or rule.diagnoses) and rule.name not in named
    )
    empty = tuple(dataclasses.replace(record, checks=()) for record in report.records)
    judged = judge_training(dataclasses.replace(report, records=empty, checks=()), more)
    rows = [*all_checks(report), *all_checks(judged)]
    looked = {row.rule for row in rows if row.status in {"pass", "fail"}}
    examined = tuple(name for name in CATALOGUE if name in looked)
    if not examined:
        return report
    found: list[tuple[Found, Report | None]] = []
    of_run = [row for row in (*report.checks, *judged.checks) if row.rule != UNUSED]
    for record, again in zip(report.records, judged.records, strict=True):
        mine = [row for row in of_run if _is_about(row, record, report)]
        of_run = [row for row in of_run if row not in mine]
        bare = [_bare(row, record) for row in (*mine, *record.checks, *again.checks)]
        causes = _explained(reading(record, report), bare)
        causes = [_with_size(cause, record, report) for cause in causes]
        found += [(cause, record) for cause in causes]
    found += [
        (Found(row.cause or row.rule, row.message, row.target, (row,)), None)
        for row in of_run
        if row.status == "fail"
    ]
    found.sort(key=lambda pair: _place_of(pair[0]))
    several = len(report.records) > 1
    diagnoses = tuple(_diagnosis(cause, record, several=several) for cause, record in found)
    reasons = unexamined(rows, looked)
    left = tuple(reasons[name] for name in CATALOGUE if name in reasons)
    return dataclasses.replace(
        report, diagnoses=diagnoses, examined=examined, unexamined=left or None
    )


def _place_of(found: Found) -> tuple[int, bool, int]:
    """Return a sort key, worst first: a symptom follows what is known to be wrong."""
    severity, place = rank(found)
    return severity, found.cause in _SYMPTOMS, place


def _explained(record: Report, rows: list[CheckRow]) -> list[Found]:
    """Return the causes of a record's findings.

    That a parameter without a gradient does not change, follows from why it has none.
    """
    lost = any(row.rule == GRADIENT and row.status == "fail" for row in rows)
    follow = [
        row
        for row in rows
        if lost and row.rule != GRADIENT and row.cause == GRADIENT and row.status == "fail"
    ]
    found = explain(record, [row for row in rows if row not in follow], _CAUSES)
    for i, item in enumerate(found):
        if follow and any(row.rule == GRADIENT for row in item.rows):
            found[i] = dataclasses.replace(item, rows=(*item.rows, *follow))
            break
    return found


def _with_size(found: Found, record: Report, report: TrainingReport) -> Found:
    """Return a cause with what makes the loss large, if it is about values that are too large."""
    first = found.rows[0]
    small = first.rule in {"update_ratio", "grad_norm"} and "above" not in first.message
    if found.cause not in _TOO_LARGE or small or found.is_note:
        return found
    reason = reason_of_size(report, record_name(record) or "")
    if reason is None or reason[0] in found.sentence:
        return found
    sentence, advice = reason
    return dataclasses.replace(found, sentence=f"{found.sentence}; {sentence}", advice=advice)


def _is_about(row: CheckRow, record: Report, report: TrainingReport) -> bool:
    """Return whether a row of the whole training is about a record."""
    first, name = report.first_non_finite, record_name(record)
    if row.rule == "finite" and first is not None:
        return first.record == name
    if row.rule == "step_spikes" and len(report.records) == 1:
        return True
    return row.target == name or without_record(name, row.target) != row.target


def _bare(row: CheckRow, record: Report) -> CheckRow:
    return dataclasses.replace(row, target=without_record(record_name(record), row.target))


def _diagnosis(found: Found, record: Report | None, *, several: bool) -> Diagnosis:
    diagnosis = diagnosis_of(found)
    steps = [row.step for row in found.rows if row.step is not None]
    name = None if record is None else record_name(record)
    target, sentence = diagnosis.target, diagnosis.sentence
    if name and several:
        target, sentence = in_record(name, target), f"{name}: {sentence}"
    return dataclasses.replace(
        diagnosis,
        target=target,
        sentence=sentence,
        record=name,
        step=found.rows[0].step if found.rows[0].step is not None else min(steps, default=None),
    )
