"""Judge a report by the rules that diagnose, and fold the findings that share a cause.

Pure: this runs no model and reads no file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Iterable, Sequence

from hookcli.diagnosis.causes import CAUSES
from hookcli.diagnosis.facts import Cause, Facts, Found
from hookcli.report.findings import SEVERITIES, CheckRow, Diagnosis, Severity, Unexamined
from hookcli.report.report import Report
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.gradients.grad_path import COPY
from hookcli.rules.judge import UNUSED, judge_report
from hookcli.spec.checks import CheckSpec

# The causes that are named first, if several have the same severity. A cause explains those below
# it more often than the other way round.
_FIRST = (
    "configured_hook",
    "learning_rate_grows", "finite", "hook_misuse", "hooks_fired", "gradients_used",
    "optimizer_model", "learning_rate_zero", "loaded_weights", "optimizer_steps", "clipping_used",
    "loss_scale", "skipped_steps", "zero_grad_called", "plateau_mode", "warmup_restarts",
    "optimizer_construction", "model_copies", "model_code", "unheld_model", "frozen_attribute",
    "frozen_parts",
    "constant_term", "constant_loss_term", "loss_values", "label_shift", "entropy_sign",
    "loss_sign", "loss_direction", "noise_scale", "double_softmax", "loss_broadcasts",
    "class_dimension", "batch_contents", "batch_dimension",
    "first_batch_only", "unregistered_parameters", "ranks_agree", "eval_while_training",
    "lost_updates", "repeated_seed", "recompilations", "schedule_steps", "grad_norm_spikes",
    "grad_norm_grows",
    "update_ratio", "saturated_activation", "vanishing_gradient", "exploding_gradient",
    "poor_initialization", "wrong_backward", "normalizes_one_value", "softmax_dimension",
    "function_arguments", "causal_mask", "padding_tokens", "dead_units",
)  # fmt: skip
_LAST = (
    "other_output",
    "cut_output",
    "unused_output",
    "uncalled_modules",
    "grad_exists",
    "zero_initialization",
    "batch_independent",
    "grad_norm",
    "loss_falls",
    "loss_spikes",
    "unheld_parameters",
    "graphless_training",
    "kept_graph",
)  # often intended, or a consequence

CHECKED = "hookcli check judges it"
OPTIONAL = "it is judged only if a configuration names it"
_TRAINING = "overfits_one_batch"
_STOPS = {  # rules whose findings explain that a training fails
    "finite", "grad_path", "grad_exists", "unregistered_parameters", "dead_units", "all_zero",
    "low_variance", "saturated_activation", "vanishing_gradient", "exploding_gradient",
    "double_softmax", "uncalled_modules",
}  # fmt: skip


def with_verdict(report: Report) -> Report:
    """Return the report with its diagnoses, and the names of the rules that looked for problems.

    Rows of the report's checks count; rules that diagnose and have no row there are judged. An
    `inspect` has no values, so it has no verdict.
    """
    if report.command == "inspect":
        return report
    judged = {row.rule for row in report.checks if row.status in {"pass", "fail"}}
    named = {row.rule for row in report.checks}
    more = tuple(
        CheckSpec(rule.name)
        for rule in CATALOGUE.values()
        if rule.diagnoses and rule.name not in named
    )
    rows = [row for row in report.checks if row.rule != UNUSED]
    own = {row.rule for row in rows}
    rows += [row for row in judge_report(report, more).checks if row.rule not in own]
    judged.update(row.rule for row in rows if row.status in {"pass", "fail"})
    examined = tuple(name for name in CATALOGUE if name in judged)
    if not examined:
        return report
    found = explain(report, rows, CAUSES)
    diagnoses = tuple(diagnosis_of(item) for item in sorted(found, key=rank))
    return dataclasses.replace(
        report,
        diagnoses=diagnoses,
        examined=examined,
        unexamined=_of_model(rows, examined) or None,
    )


def unexamined(rows: Iterable[CheckRow], examined: Container[str]) -> dict[str, Unexamined]:
    """Return the rules of which all rows were skipped, with the first reason of each.

    That something was not seen counts more than that there was nothing to judge elsewhere.
    """
    skipped = [
        row
        for row in rows
        if row.status == "skip" and row.rule not in examined and row.passed_over is None
    ]
    skipped.sort(key=lambda row: not row.unseen)
    found: dict[str, Unexamined] = {}
    for row in skipped:
        found.setdefault(row.rule, Unexamined(row.rule, row.message, bool(row.unseen)))
    return found


def _of_model(rows: Iterable[CheckRow], examined: Container[str]) -> tuple[Unexamined, ...]:
    """Return the rules that had nothing to judge, and those that nobody asked for, in order."""
    reasons = unexamined(rows, examined)
    for rule in CATALOGUE.values():
        if rule.name in examined or rule.diagnoses or rule.of_training or rule.ranks:
            continue
        if not any(option.required for option in rule.options):  # else it holds a contract
            why = CHECKED if rule.safe else OPTIONAL
            reasons.setdefault(rule.name, Unexamined(rule.name, why, unseen=False))
    return tuple(reasons[name] for name in CATALOGUE if name in reasons)


def explain(report: Report, rows: Sequence[CheckRow], causes: Sequence[Cause]) -> list[Found]:
    """Return the causes of the findings among the rows; each finding is explained once."""
    left = [row for row in rows if row.status == "fail" and row.cause != COPY]
    found: list[Found] = []
    for cause in causes:
        for item in cause(Facts(report, tuple(left))):
            explained = {id(row) for row in item.rows}
            left = [row for row in left if id(row) not in explained]
            found.append(item)
    return _without_learning(found)


def _without_learning(found: list[Found]) -> list[Found]:
    """Fold a failed training into the first cause that keeps a model from learning."""
    failed = [item for item in found if item.cause == _TRAINING]
    causes = [item for item in found if not _STOPS.isdisjoint(row.rule for row in item.rows)]
    if not failed or not causes:
        return found
    first = min(causes, key=rank)
    rows = (*first.rows, *(row for item in failed for row in item.rows))
    folded = dataclasses.replace(first, rows=rows)
    return [folded if item is first else item for item in found if item not in failed]


def rank(found: Found) -> tuple[int, int]:
    """Return a sort key, worst first; findings of one rank keep the order of the report."""
    place = len(_FIRST)
    if found.cause in _FIRST:
        place = _FIRST.index(found.cause)
    elif found.cause in _LAST:
        place += 1 + _LAST.index(found.cause)
    return (SEVERITIES.index(_severity(found)), place)


def _severity(found: Found) -> Severity:
    """Return that of the worst finding, or a note if the cause is no problem."""
    if found.is_note:
        return "note"
    return min((row.severity for row in found.rows), key=SEVERITIES.index)


def diagnosis_of(found: Found) -> Diagnosis:
    """Return what a report says of a cause."""
    first = found.rows[0]
    advice = found.advice or first.advice
    if advice is None:
        rule = CATALOGUE.get(first.rule)
        advice = None if rule is None else rule.mend
    return Diagnosis(
        cause=found.cause,
        severity=_severity(found),
        sentence=" ".join(found.sentence.split()),
        advice=advice,
        target=found.target,
        place=found.place or first.place,
        rules=tuple(dict.fromkeys(row.rule for row in found.rows)),
        fingerprints=tuple(row.fingerprint for row in found.rows),
    )
