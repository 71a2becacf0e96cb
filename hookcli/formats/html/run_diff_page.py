"""The page of a comparison of two trainings: their figures by step, over each other."""

from __future__ import annotations

from collections.abc import Iterator

from hookcli.comparison.training.training_diff import Parting, TrainingDiff
from hookcli.console import escape
from hookcli.formats.diff.side_names import names_of_trainings
from hookcli.formats.html.data.trainings import pairs
from hookcli.formats.html.diff_page import named_facts, title_of
from hookcli.formats.html.page import Finding, Header, link, write_page
from hookcli.formats.html.plain_tables import plain_tables
from hookcli.formats.parts.text import place, sentence
from hookcli.formats.training_diff import lines
from hookcli.formats.training_diff.steps import Selected
from hookcli.formats.view import View


def render(diff: TrainingDiff, view: View) -> str:
    """Return the page of two trainings; the view selects nothing."""
    names = names_of_trainings(diff)
    data = {
        "kind": "rundiff",
        "sides": [names.title("a"), names.title("b")],
        "settings": [
            [escape(text or "–") for text in (row.name, row.record or "", row.a, row.b)]
            for row in diff.settings
        ],
        "records": pairs(diff),
    }
    return write_page("run_diff.js", _header(diff, view), data, plain_tables(diff), lines=True)


def _header(diff: TrainingDiff, view: View) -> Header:
    scripts = [escape(side.script.name) for side in (diff.a, diff.b)]
    names = names_of_trainings(diff)
    return Header(
        title=title_of(scripts, names),
        command="diff",
        facts=named_facts(lines.head(diff), names),
        state="good" if diff.verdict == "same" else "error",
        verdict=lines.last_line(diff),
        findings=tuple(_findings(diff)),
        notes=lines.notes(diff, Selected((), [], [], 0, 0), view),
    )


def _record(diff: TrainingDiff, first: Parting) -> int:
    return next((i for i, row in enumerate(diff.records) if row.a == first.record), 0)


def _findings(diff: TrainingDiff) -> Iterator[Finding]:
    resume = diff.resume
    if resume is not None and resume.lost is not None:
        row = next((i for i, one in enumerate(diff.records) if one.a == resume.record), 0)
        yield Finding(
            severity="not restored",
            sentence=escape(sentence(resume.sentence)),
            advice=escape(resume.advice or ""),
            link=link(tab="steps", record=row, step=resume.step),
            label="show it",
            place="" if resume.place is None else place(resume.place),
        )
    if diff.first is not None:
        yield _finding(diff, diff.first)


def _finding(diff: TrainingDiff, first: Parting) -> Finding:
    parts = [text for text in (first.sentence, first.meaning) if text is not None]
    return Finding(
        severity="first difference",
        sentence=" ".join(escape(sentence(text)) for text in parts),
        advice=escape(first.advice or ""),
        link=link(tab="steps", record=_record(diff, first), step=first.figure.step),
        label="show it",
        place=" | ".join(
            f"{label} {place(text)}"
            for label, text in (("A", first.place), ("B", first.other_place))
            if text is not None
        ),
    )
