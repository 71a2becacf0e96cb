"""The table of formats. Importing this loads no renderer.

>>> FORMATS["table"].render(report, View())  # doctest: +SKIP
"""

from __future__ import annotations

from hookcli.formats.format import Format
from hookcli.formats.results import REPORTS, Kind

_VIEW = "--only, --depth, --columns and --sort select and order what is shown"
_FAIL_ON = (
    "a finding fails its test only if --fail-on counts it; a warning that does not count is a "
    "skipped test, so that the tests agree with the exit status"
)

_ROWS = (
    Format(
        "table",
        "a table of the calls, as wide as the terminal (default)",
        read_by="a person, at a terminal or in a log",
        example="hookcli inspect model.py",
        printer="document.terminal:page",
        notes=(
            "as wide as the terminal or as the variable COLUMNS; 120 columns in a pipe",
            _VIEW,
            "the last line of a check begins with PASSED or FAILED",
        ),
    ),
    Format(
        "tree",
        "one line per call, indented under its caller, nothing omitted",
        read_by="a person who needs every call",
        example="hookcli trace model.py -f tree -o calls.txt",
        printer="document.terminal:uncut",
        kinds=(*REPORTS, "weights", "weights_diff"),
        shows_tree=True,
        notes=(_VIEW,),
    ),
    Format(
        "html",
        "a page to look at in a browser: layers, gradients, diagram, hooks, checks",
        read_by="a person, in a browser; an artifact of CI",
        example="hookcli grads model.py -f table -f html=report.html",
        renderer="html.pages:render",
        suffix=".html",
        notes=(
            "one file that needs no network: its Content-Security-Policy forbids requests",
            "the page contains all data of the report, regardless of --only and the like",
            "a selection is in the address, so that a link shows it again",
            "of a training: its figures by step, and the tables of each record",
            "of a diff: A and B side by side; of two trainings, their figures over each other",
            "requires a file or a pipe: a terminal cannot show the page",
            "the run counts FLOPs for it, also those of grads, trace and check",
        ),
        shows_flops=True,
        opened_by="a browser",
    ),
    Format(
        "json",
        "the whole report (hookcli.report/1, see `hookcli schema report`)",
        read_by="programs, hookcli render, hookcli check --against",
        example="hookcli check model.py -f table -f json=report.json",
        renderer="report_json:render",
        suffix=".json",
        notes=(
            "the whole report, regardless of --only and the like",
            "strict JSON: NaN and infinities are the strings nan, inf and -inf",
            "the same run gives the same bytes, except for environment",
            "the report of a training script is hookcli.run/1, see `hookcli schema run`",
        ),
        has_rank_files=True,
    ),
    Format(
        "markdown",
        "the table for a pull request or an issue",
        read_by="a pull request, an issue, a wiki",
        example="hookcli check model.py -f markdown -o report.md",
        printer="document.markdown:page",
        suffix=".md",
        notes=("names are escaped, so that none becomes a mention, a link or HTML", _VIEW),
    ),
    Format(
        "svg",
        "a picture: gradients as bars or a heat map, modules as a diagram",
        read_by="browsers, GitHub in Markdown, programs that convert it for print",
        example="hookcli grads model.py --steps 20 -f svg=gradients.svg",
        renderer="svg.picture:render",
        kinds=REPORTS,
        suffix=".svg",
        notes=(
            "the command decides: grads draws a bar for each parameter, or with several steps a "
            "heat map; run a heat map for each record; the others the modules that ran",
            "colours are on a log scale between the quantiles 0.02 and 0.98 of the norms; NaN, "
            "infinities, zeros and missing gradients have marks of their own",
            "more than 120 parameters are folded to modules, and more than 160 steps share columns",
            "a diagram is as deep as 60 boxes allow, or as --depth; --only selects modules or "
            "parameters, --sort orders parameters",
            "light or dark, as the reader prefers; it has no script, no font and no link",
        ),
    ),
    Format(
        "junit",
        "findings as tests, for Jenkins, GitLab and other readers of JUnit XML",
        read_by="Jenkins, GitLab, Azure Pipelines, CircleCI, Buildkite, Bamboo, TeamCity",
        example="hookcli check model.py -f table -f junit=hookcli.xml",
        renderer="ci.junit:render",
        kinds=REPORTS,
        suffix=".xml",
        notes=(
            "one test suite per rule and one test per target; the suite named run contains one "
            "test, which fails if the model raised",
            _FAIL_ON,
            "a rule that could not be judged is an error; a finding that is suppressed or in the "
            "baseline is skipped",
        ),
    ),
    Format(
        "sarif",
        "findings as SARIF 2.1.0, for code scanning and editors",
        read_by="GitHub code scanning, Azure DevOps, editors with a SARIF viewer",
        example="hookcli check model.py -f table -f sarif=hookcli.sarif",
        renderer="ci.sarif:render",
        kinds=REPORTS,
        suffix=".sarif",
        notes=(
            "version 2.1.0; one result per cause, with the help of the rule, the line in your "
            "source and the fingerprint",
            "paths are relative to the root of the git checkout, %SRCROOT%; paths of files "
            "outside it are absolute",
            "a finding that is suppressed or in the baseline has a suppression and the level "
            "note; GitHub still shows it",
            "a model that raised and a rule that could not be judged are notifications, and "
            "executionSuccessful is false",
        ),
    ),
    Format(
        "github",
        "findings as annotations and the summary of a GitHub Actions step",
        read_by="GitHub Actions, from the stdout of a step",
        example="hookcli check model.py -f github",
        renderer="ci.github:render",
        kinds=REPORTS,
        notes=(
            "one annotation per cause, on its line, the worst first: GitHub shows ten errors "
            "and ten warnings per step, and the last annotation gives the number of the others",
            "the check is appended as Markdown to the file that GITHUB_STEP_SUMMARY names, with "
            "the absent, smallest and largest gradients as bars",
            "stop-commands enclose everything that the model prints, in every format",
        ),
        has_step_summary=True,
    ),
    Format(
        "perfetto",
        "a timeline for ui.perfetto.dev: when forward, backward and hooks ran",
        read_by="ui.perfetto.dev, chrome://tracing",
        example="hookcli trace model.py -f perfetto=trace.json",
        renderer="timeline.timeline:render",
        kinds=REPORTS,
        notes=(
            "requires real tensors, and selects them itself; inspect has no events to show",
            "a training without times: each step lasts a millisecond, as `otherData` says",
        ),
        needs_timings=True,
    ),
    Format(
        "tensorboard",
        "an event file in a folder, for TensorBoard: scalars, histograms, graph",
        read_by="TensorBoard",
        example="hookcli grads model.py --steps 10 -f tensorboard=runs/1",
        renderer="tensorboard.event_file:render",
        kinds=REPORTS,
        notes=(
            "requires the package tensorboard: `pip install 'hookcli[tensorboard]'`",
            "writes one new event file; other files in the folder stay. Use a folder for each run",
            "scalars by step: the loss; the norm of each gradient; norms at layers and events. "
            "The norm of each weight, and of its gradient divided by it, in the last step",
            "histograms are rebuilt from the minimum, maximum, mean, standard deviation and zeros "
            "of a tensor: the distribution of maximum entropy with these figures",
            "of a training: the loss, gradient norm, learning rate and update ratio by step; the "
            "norms of parameters at sampled steps. Several records are told apart by their names",
            "the graph has a node for each call; its edges are the order of the calls, not the "
            "flow of data",
        ),
        writes_folder=True,
        package="tensorboard",
    ),
)

FORMATS: dict[str, Format] = {row.name: row for row in _ROWS}
SUFFIXES: dict[str, Format] = {row.suffix: row for row in _ROWS if row.suffix}


def formats_of(kind: Kind) -> dict[str, Format]:
    """Return the formats that support results of a kind."""
    return {name: row for name, row in FORMATS.items() if kind in row.kinds}
