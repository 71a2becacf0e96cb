"""What hookcli knows of its formats, for a person: `explain format:NAME`. Plain text."""

from __future__ import annotations

from dataclasses import dataclass

from hookcli.formats.names import FORMATS
from hookcli.formats.parts.text import sentence
from hookcli.reference.text_page import WIDTH, bullet_list, fields, filled, page


@dataclass(frozen=True, slots=True)
class FormatDoc:
    """What there is to know of a format: what reads it, how it is asked for, and notes."""

    read_by: str
    example: str
    notes: tuple[str, ...] = ()


_CALLS = "a view's flags (--only, --depth, --columns, --sort) pick and order its rows"
_FAIL_ON = (
    "what fails is what --fail-on counts: a warning that does not count is a skipped test, so that "
    "no red test stands beside a green gate"
)

DOCS: dict[str, FormatDoc] = {
    "table": FormatDoc(
        "a person, at a terminal or in a log",
        "hookcli inspect model.py",
        (
            "as wide as the terminal, or as COLUMNS says; 120 columns in a pipe",
            _CALLS,
            "of a check, the last line begins with PASSED or FAILED",
        ),
    ),
    "tree": FormatDoc(
        "a person who wants every call", "hookcli trace model.py -f tree -o calls.txt", (_CALLS,)
    ),
    "json": FormatDoc(
        "programs, hookcli render, hookcli check --against",
        "hookcli check model.py -f table -f json=report.json",
        (
            "the whole report, whatever the view shows",
            "strict JSON: NaN and infinities are the texts nan, inf and -inf",
            "the same run gives the same bytes, but for environment",
        ),
    ),
    "markdown": FormatDoc(
        "a pull request, an issue, a wiki",
        "hookcli check model.py -f markdown -o report.md",
        ("names are escaped: none becomes a mention, a link or HTML", _CALLS),
    ),
    "junit": FormatDoc(
        "Jenkins, GitLab, Azure Pipelines, CircleCI, Buildkite, Bamboo, TeamCity",
        "hookcli check model.py -f table -f junit=hookcli.xml",
        (
            "a test suite for each rule, and a test for each target; a suite named run for the run "
            "itself, whose test fails where the model raised",
            _FAIL_ON,
            "a rule that could not be judged is an error; what is suppressed, or known to the "
            "baseline, is skipped",
        ),
    ),
    "sarif": FormatDoc(
        "GitHub code scanning, Azure DevOps, editors with a SARIF viewer",
        "hookcli check model.py -f table -f sarif=hookcli.sarif",
        (
            "version 2.1.0; a result for each finding, with the rule's help, the line in your "
            "source and the fingerprint",
            "files are named from the root of the git checkout, as %SRCROOT%; those outside by "
            "their whole path",
            "what is suppressed, or known to the baseline, has a suppression and the level note; "
            "GitHub shows it all the same",
            "a model that raised, and a rule that could not be judged, are notifications, and "
            "executionSuccessful is false",
        ),
    ),
    "github": FormatDoc(
        "GitHub Actions, from the stdout of a step",
        "hookcli check model.py -f github",
        (
            "an annotation on the line of each finding, the worst first: GitHub shows ten errors "
            "and ten warnings for a step, and the last annotation says how many more there are",
            "the check as Markdown is added to the file that GITHUB_STEP_SUMMARY names",
            "what the model prints is fenced by stop-commands, whatever the format",
        ),
    ),
    "perfetto": FormatDoc(
        "ui.perfetto.dev, chrome://tracing",
        "hookcli trace model.py -f perfetto=trace.json",
        ("needs real tensors, which it asks for by itself; inspect has no events to show",),
    ),
}


def format_page(name: str, width: int = WIDTH) -> str:
    """All there is to know of one format."""
    doc = DOCS[name]
    return page(
        (
            f"{name}  (format)",
            filled(sentence(FORMATS[name]), width, "", ""),
            fields([("read by", doc.read_by), ("example", doc.example)], width),
            bullet_list("notes", doc.notes, width),
        )
    )
