"""The sentences around the tables of a comparison of two trainings."""

from __future__ import annotations

import shlex

from hookcli.comparison.training.parting import percent, subject, summary_of
from hookcli.comparison.training.training_diff import TrainingDiff, TrainingSide
from hookcli.console import escape
from hookcli.formats.parts.text import place
from hookcli.formats.parts.verdict import TRY
from hookcli.formats.training_diff.steps import Selected
from hookcli.formats.view import View
from hookcli.text import counted, join_names


def _side(side: TrainingSide, steps: list[int | None]) -> str:
    script = side.script
    command = shlex.join([*(["-m"] if script.is_module else []), script.name, *script.arguments])
    records = [
        f"{counted(count, 'step')} of {escape(name)}"
        for name, count in zip(side.records, steps, strict=True)
        if count is not None
    ]
    text = f"{escape(command)}: {join_names(records) or 'no training'}"
    ended = side.script.ended
    if ended == "completed":
        return text
    how = escape(side.script.error or "") if ended == "signal" else ended.replace("_", " ")
    return f"{text}, ended by {how}"


def head(diff: TrainingDiff) -> list[tuple[str, str]]:
    """Return (label, text) lines about A and B."""
    ours = {row.a: row.steps[0] for row in diff.records}
    theirs = {row.b: row.steps[1] for row in diff.records}
    return [
        ("A", _side(diff.a, [ours.get(name) for name in diff.a.records])),
        ("B", _side(diff.b, [theirs.get(name) for name in diff.b.records])),
    ]


def first(diff: TrainingDiff) -> list[tuple[str, str]]:
    """Return (label, text) lines about what was not restored, and where the trainings part."""
    found, lines = diff.first, _resume(diff)
    if found is None:
        return lines
    lines.append(("First difference", escape(found.sentence)))
    for label, line in (("in A", found.place), ("in B", found.other_place)):
        if line is not None:
            lines.append((label, place(line)))
    if found.meaning is not None:
        lines.append(("meaning", escape(found.meaning)))
    if found.advice is not None:
        lines.append((TRY, escape(found.advice)))
    return lines


def _resume(diff: TrainingDiff) -> list[tuple[str, str]]:
    """Return lines about a group of the state that was lost between the trainings."""
    resume = diff.resume
    if resume is None or resume.lost is None:
        return []
    lines = [("Not restored", escape(resume.sentence))]
    if resume.place is not None:
        lines.append(("saved at", place(resume.place)))
    if resume.advice is not None:
        lines.append((TRY, escape(resume.advice)))
    return lines


def totals(diff: TrainingDiff) -> list[str]:
    """Return a line with the counts of each record that both have."""
    several = len(diff.records) > 1
    return [
        (f"{escape(row.a)}: " if several else "") + summary_of(row)
        for row in diff.records
        if row.a is not None and row.b is not None
    ]


def notes(diff: TrainingDiff, rows: Selected, view: View) -> list[str]:
    """Return the notes below the tables."""
    lines = [escape(text) for text in diff.warnings]
    if diff.resume is not None and diff.resume.lost is None:
        lines.append(escape(diff.resume.sentence))
    if rows.hidden_steps:
        lines.append(f"{counted(rows.hidden_steps, 'step')} not shown: pass `-f json` to see all")
    if rows.hidden_gradients:
        count = counted(rows.hidden_gradients, "parameter")
        lines.append(f"{count} not shown: pass `--only '*'` or `-f json` to see all")
    for row in diff.records:
        inexact = row.first_inexact
        if row.first is None and inexact is not None:
            lines.append(
                f"the first figure that is not equal is {escape(subject(inexact))} "
                f"at step {inexact.step:,}"
            )
    return lines


def last_line(diff: TrainingDiff) -> str:
    """Return the verdict: SAME or DIFFERENT, and why."""
    if diff.verdict == "different":
        return f"DIFFERENT: {escape(', '.join(diff.reasons))}"
    both = [row for row in diff.records if row.a is not None and row.b is not None]
    figures = sum(row.figures for row in both)
    if not figures:
        return "SAME as far as the reports show: no figure was compared"
    if any(row.status == "close" for row in both):
        known = [row.largest for record in diff.records for row in record.rows]
        most = percent(max((size for size in known if isinstance(size, float)), default=0.0))
        zeros = ", besides rounding of zeros" if "inf" in known else ""
        return f"SAME within tolerance: differences of at most {most}{zeros}"
    return f"SAME: all {counted(figures, 'figure')} of both are equal"
