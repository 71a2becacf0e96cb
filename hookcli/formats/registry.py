"""The formats by name: one row each. Importing this loads no renderer.

>>> FORMATS["table"](report, View())  # doctest: +SKIP
"""

from __future__ import annotations

from hookcli.formats.format import Format

_VIEW = "a view's flags (--only, --depth, --columns, --sort) pick and order its rows"
_FAIL_ON = (
    "what fails is what --fail-on counts: a warning that does not count is a skipped test, so that "
    "no red test stands beside a green gate"
)

_ROWS = (
    Format(
        "table",
        "a table of the calls, as wide as the terminal (default)",
        read_by="a person, at a terminal or in a log",
        example="hookcli inspect model.py",
        renderer="inspect.table:render",
        by_command={
            "trace": "trace.table:render",
            "grads": "grads.table:render",
            "check": "check.table:render",
        },
        diff_renderer="diff.table:render",
        notes=(
            "as wide as the terminal, or as COLUMNS says; 120 columns in a pipe",
            _VIEW,
            "of a check, the last line begins with PASSED or FAILED",
        ),
    ),
    Format(
        "tree",
        "a line for each call, indented by who called whom, nothing left out",
        read_by="a person who wants every call",
        example="hookcli trace model.py -f tree -o calls.txt",
        renderer="inspect.tree:render",
        by_command={
            "trace": "trace.tree:render",
            "grads": "grads.tree:render",
            "check": "check.table:render",
        },
        notes=(_VIEW,),
    ),
    Format(
        "json",
        "the whole report: hookcli.report/1, see `hookcli schema report`",
        read_by="programs, hookcli render, hookcli check --against",
        example="hookcli check model.py -f table -f json=report.json",
        renderer="report_json:render",
        diff_renderer="report_json:render_diff",
        notes=(
            "the whole report, whatever the view shows",
            "strict JSON: NaN and infinities are the texts nan, inf and -inf",
            "the same run gives the same bytes, but for environment",
        ),
        has_rank_files=True,
    ),
    Format(
        "markdown",
        "the table for a pull request or an issue",
        read_by="a pull request, an issue, a wiki",
        example="hookcli check model.py -f markdown -o report.md",
        renderer="markdown:render",
        by_command={
            "trace": "markdown:render_trace",
            "grads": "markdown:render_grads",
            "check": "check.markdown:render",
        },
        diff_renderer="diff.markdown:render",
        notes=("names are escaped: none becomes a mention, a link or HTML", _VIEW),
    ),
    Format(
        "junit",
        "findings as tests, for Jenkins, GitLab and what else reads JUnit XML",
        read_by="Jenkins, GitLab, Azure Pipelines, CircleCI, Buildkite, Bamboo, TeamCity",
        example="hookcli check model.py -f table -f junit=hookcli.xml",
        renderer="ci.junit:render",
        notes=(
            "a test suite for each rule, and a test for each target; a suite named run for the run "
            "itself, whose test fails where the model raised",
            _FAIL_ON,
            "a rule that could not be judged is an error; what is suppressed, or known to the "
            "baseline, is skipped",
        ),
    ),
    Format(
        "sarif",
        "findings as SARIF 2.1.0, for code scanning and editors",
        read_by="GitHub code scanning, Azure DevOps, editors with a SARIF viewer",
        example="hookcli check model.py -f table -f sarif=hookcli.sarif",
        renderer="ci.sarif:render",
        notes=(
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
    Format(
        "github",
        "findings as annotations of a GitHub Actions step, and its summary",
        read_by="GitHub Actions, from the stdout of a step",
        example="hookcli check model.py -f github",
        renderer="ci.github:render",
        notes=(
            "an annotation on the line of each finding, the worst first: GitHub shows ten errors "
            "and ten warnings for a step, and the last annotation says how many more there are",
            "the check as Markdown is added to the file that GITHUB_STEP_SUMMARY names",
            "what the model prints is fenced by stop-commands, whatever the format",
        ),
        has_step_summary=True,
    ),
    Format(
        "perfetto",
        "a timeline for ui.perfetto.dev: forward, backward and hooks as they ran in time",
        read_by="ui.perfetto.dev, chrome://tracing",
        example="hookcli trace model.py -f perfetto=trace.json",
        renderer="timeline.perfetto:render",
        notes=("needs real tensors, which it asks for by itself; inspect has no events to show",),
        needs_timings=True,
    ),
)

FORMATS: dict[str, Format] = {row.name: row for row in _ROWS}
DIFF_FORMATS: dict[str, Format] = {row.name: row for row in _ROWS if row.diff_renderer is not None}
