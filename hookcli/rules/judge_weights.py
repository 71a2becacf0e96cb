"""Judges a file of weights by checks: only rules that need no run of a model can."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from hookcli.report.report import Report
from hookcli.rules.catalogue import CATALOGUE
from hookcli.rules.judge import pass_over, row_of
from hookcli.rules.rule import Rule, RuleFinding, passed, skipped, unseen
from hookcli.spec.checks import CheckSpec, Suppression
from hookcli.text import counted

# The rules that can judge weights alone. `finite` is judged without being asked for.
OF_WEIGHTS = ("finite", "dtype", "budget", "same_as", "parameter_shape")
NO_RUN = "a file of weights is not run"


def is_weights(report: Report) -> bool:
    """Whether a report is that of a file of weights."""
    return report.model.format == "weights"


def with_finite(checks: tuple[CheckSpec, ...]) -> tuple[CheckSpec, ...]:
    """Return the checks with that of the values, unless they have it."""
    if any(check.rule == "finite" for check in checks):
        return checks
    return (CheckSpec("finite"), *checks)


def judge_weights(
    report: Report,
    checks: Sequence[CheckSpec],
    suppressions: Sequence[Suppression] = (),
    known: Collection[str] = (),
) -> Report:
    """Return the report with a row for each finding and for each rule that passed.

    `report` is that of `as_report`. Findings that do not count are those of `judge_report`.
    """
    rows = []
    for check in checks:
        rule = CATALOGUE[check.rule]
        rows += [row_of(rule, check, finding) for finding in _findings(report, rule, check)]
    (settled,), unused = pass_over([rows], suppressions, known)
    return dataclasses.replace(report, checks=(*settled, *unused))


def _findings(report: Report, rule: Rule, check: CheckSpec) -> Iterator[RuleFinding]:
    if rule.name not in OF_WEIGHTS:
        yield unseen(NO_RUN)
    elif rule.name == "finite":
        yield from _finite(report)
    elif rule.name == "dtype":  # of parameters: there are no outputs
        yield from rule.judge(report, {**rule.filled(check.options), "part": "parameter"})
    else:
        yield from rule.judge(report, rule.filled(check.options))


def _finite(report: Report) -> Iterator[RuleFinding]:
    """Yield a finding for each tensor with a NaN, or with infinities that are not those of a mask.

    A mask has infinities of one sign, and one other value.
    """
    read = [row for row in report.parameters if row.stats is not None]
    if not read:
        yield skipped("no values were read")
        return
    bad = masks = 0
    for row in read:
        stats = row.stats or {}
        if not (stats["nans"] or stats["infs"]):
            continue
        if _is_mask(stats):
            masks += 1
            continue
        bad += 1
        counts = [f"{stats[key]:,} {word}" for key, word in _WORDS if stats[key]]
        message = f"{row.name} contains {', '.join(counts)} in {counted(stats['numel'], 'element')}"
        number = stats["nans"] + stats["infs"]
        yield RuleFinding("fail", row.name, "weights", message, number, 0, advice=_ADVICE)
    left = len(report.parameters) - len(read)
    if not bad:
        aside = f" ({counted(masks, 'mask')} with Inf)" if masks else ""
        aside += f"; {counted(left, 'tensor')} not read" if left else ""
        yield passed(
            f"no NaN and no Inf in {counted(len(read), 'tensor')}{aside}", value=0, limit=0
        )


_ADVICE = "go back to a file without it; `hookcli run` finds the step of a training that makes one"
_WORDS = (("nans", "NaN"), ("infs", "Inf"))


def _is_mask(stats: Mapping[str, Any]) -> bool:
    finite = stats.get("finite") or {}
    one_sign = stats["mean"] in {"inf", "-inf"}
    return not stats["nans"] and one_sign and finite.get("min") == finite.get("max")
