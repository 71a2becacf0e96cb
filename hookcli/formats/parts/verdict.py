"""What the verdict above the numbers says: what is wrong, the worst first, or that nothing is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hookcli.report.findings import Diagnosis
from hookcli.report.report import Report
from hookcli.report.steps import TrainingInfo
from hookcli.report.training import TrainingReport
from hookcli.rules.catalogue import CATALOGUE, looked_at
from hookcli.text import counted, join_names

_MOST = 3  # sentences
_TOPICS = 6  # of what rules looked at
TRY = "try"  # the label of what to try
FIX = "to fix it"  # the label of how to fix a finding, in every format
GOOD = "no problem found"


def shown(report: Report) -> tuple[Diagnosis, ...]:
    """Return the diagnoses that a verdict shows."""
    return (report.diagnoses or ())[:_MOST]


def left_out(report: Report) -> str:
    """Return how many diagnoses are not shown, and where they are; "" if all are."""
    left = len((report.diagnoses or ())[_MOST:])
    return f"{counted(left, 'more problem')}: `-f json` lists all" if left else ""


def has_problem(diagnoses: Sequence[Diagnosis]) -> bool:
    """Return whether one of the diagnoses is more than a note."""
    return any(item.severity != "note" for item in diagnoses)


def nothing_found(report: Report) -> str:
    """Return the line of a report without problems; "" if nothing was judged, or the run failed.

    It names what was looked at; `examined` in JSON has all rules. Notes are no problems.
    """
    if report.diagnoses is None or has_problem(report.diagnoses) or report.error is not None:
        return ""
    return f"{GOOD}; {_rules(report.examined or ())}"


def nothing_in_steps(report: TrainingReport) -> str:
    """Return the line of a training without problems: what was looked at, in which of its steps.

    "" if nothing was judged, or the script raised an exception.
    """
    if report.diagnoses is None or has_problem(report.diagnoses):
        return ""
    if report.script.ended == "exception":
        return ""
    trainings = list(_own_steps(report))
    total = sum(training.total for training in trainings)
    sampled = sum(len(training.sampled) for training in trainings)
    kept = sum(len(training.steps) for training in trainings)
    rules = report.examined or ()
    of_every = [name for name in rules if name in CATALOGUE and CATALOGUE[name].every_step]
    detailed = [name for name in rules if name not in of_every]  # also those of other versions
    if sampled == total or not of_every:
        return f"{GOOD} in {_of(sampled, total)}; {_rules(rules)}"
    where = f"in {_of(kept, total)}"
    if not detailed:
        return f"{GOOD} {where}; {_rules(of_every)}"
    return (
        f"{GOOD}; {_rules(of_every)} {where}, and {len(detailed):,} at {_what(detailed)} in "
        f"{_of(sampled, total)}"
    )


def _own_steps(report: TrainingReport) -> Iterator[TrainingInfo]:
    """Yield the trainings with steps of their own: of models that one optimizer trains, one.

    It is the one with the fewest steps in detail, so that no more is said than is true of all.
    """
    trainings = {row.training.record: row.training for row in report.records if row.training}
    seen: set[str] = set()
    for name, training in trainings.items():
        if name in seen:
            continue
        group = [
            training,
            *(trainings[other] for other in training.shared or () if other in trainings),
        ]
        seen.update(one.record for one in group)
        yield min(group, key=lambda one: (len(one.sampled), len(one.steps)))


def _of(some: int, total: int) -> str:
    steps = counted(total, "step")
    return f"{some:,} of {steps}" if some < total else f"all {steps}" if total > 1 else steps


def _rules(names: Sequence[str]) -> str:
    return f"{counted(len(names), 'rule')} looked at {_what(names)}"


def _what(names: Sequence[str]) -> str:
    topics = looked_at(names)
    return join_names(topics, _TOPICS if len(topics) > _TOPICS + 2 else len(topics))
