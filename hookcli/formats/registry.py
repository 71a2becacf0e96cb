"""The formats by name. Each is a function of a report and a view; the command line writes.

>>> FORMATS["table"](report, View())  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from hookcli.formats import markdown
from hookcli.formats.check import markdown as check_markdown, table as check_table
from hookcli.formats.ci import github, junit, sarif
from hookcli.formats.grads import table as grads_table, tree as grads_tree
from hookcli.formats.inspect import table, tree
from hookcli.formats.timeline import perfetto
from hookcli.formats.trace import table as trace_table, tree as trace_tree
from hookcli.formats.view import View, check_view
from hookcli.report.encode import to_json
from hookcli.report.report import Report

Render: TypeAlias = Callable[[Report, View], str]


def _by_command(default: Render, others: Mapping[str, Render]) -> Render:
    """A format that shows each command's report in its own way."""

    def render(report: Report, view: View) -> str:
        check_view(report, view)
        return others.get(report.command, default)(report, view)

    return render


def _json(report: Report, view: View) -> str:  # a view never changes the JSON
    """hookcli.report/1."""
    return to_json(report)


FORMATS: dict[str, Render] = {
    "table": _by_command(
        table.render,
        {"trace": trace_table.render, "grads": grads_table.render, "check": check_table.render},
    ),
    "tree": _by_command(
        tree.render,
        {"trace": trace_tree.render, "grads": grads_tree.render, "check": check_table.render},
    ),
    "json": _json,
    "markdown": _by_command(
        markdown.render,
        {
            "trace": markdown.render_trace,
            "grads": markdown.render_grads,
            "check": check_markdown.render,
        },
    ),
    "junit": junit.render,
    "sarif": sarif.render,
    "github": github.render,
    "perfetto": perfetto.render,
}
