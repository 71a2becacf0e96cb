"""The verdict on a training that still runs: only what no later step can undo."""

from __future__ import annotations

from dataclasses import replace

from hookcli.diagnosis.training import with_training_verdict
from hookcli.report.training import TrainingReport
from hookcli.rules.catalogue import CATALOGUE, with_training_set
from hookcli.rules.judge_training import judge_training
from hookcli.spec.checks import Suppression


def judged_so_far(
    report: TrainingReport, suppressions: tuple[Suppression, ...] = ()
) -> TrainingReport:
    """Return the training so far with its verdict, from the rules that are always judged.

    While it runs, that verdict has the findings of `early` rules only: a module that never ran may
    run in the next step. If its end is not known, all rules judge what was recorded.
    """
    judged = judge_training(report, with_training_set(()), suppressions)
    judged = with_training_verdict(judged)
    if report.script.ended != "running":
        return judged
    found = tuple(row for row in judged.diagnoses or () if any(map(is_early, row.rules)))
    examined = tuple(filter(is_early, judged.examined or ()))
    return replace(judged, diagnoses=found if examined else None, examined=examined or None)


def is_early(name: str) -> bool:
    """Return whether a rule judges what later steps cannot undo."""
    rule = CATALOGUE.get(name)
    return rule is not None and rule.early
