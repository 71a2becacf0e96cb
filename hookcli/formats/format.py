"""What hookcli knows of one format: a row of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookcli.comparison.diff import Diff
    from hookcli.formats.view import View
    from hookcli.report.report import Report


@dataclass(frozen=True, slots=True)
class Format:
    """One format: what users need to know of it, and which functions render it.

    A renderer is "module:function" below hookcli.formats, imported when it is called: a function
    of a report, or of a diff, and a view, that returns a str. `by_command` has those of commands
    whose reports are shown in their own way; their columns and sorts are checked before.
    """

    name: str
    description: str  # a line of `hookcli list formats`
    read_by: str
    example: str
    renderer: str
    by_command: Mapping[str, str] = field(default_factory=dict)
    diff_renderer: str | None = None  # None: a diff has no such format
    notes: tuple[str, ...] = ()
    needs_timings: bool = False  # of a run with real tensors
    has_step_summary: bool = False  # a check is added to the summary of a CI step too
    has_rank_files: bool = False  # each rank writes a file of its own

    def __call__(self, report: Report, view: View) -> str:
        """The report as text.

        Raises
        ------
        RequestError : the view names a column or a sort that a report of its command lacks.
        """
        if self.by_command:
            from hookcli.formats.view import check_view

            check_view(report, view)
        render = _function(self.by_command.get(report.command, self.renderer))
        return str(render(report, view))

    def render_diff(self, diff: Diff, view: View) -> str:
        """The diff as text.

        Raises
        ------
        LookupError : a diff has no such format.
        """
        if self.diff_renderer is None:
            raise LookupError(f"a diff has no format {self.name}")
        return str(_function(self.diff_renderer)(diff, view))

    def load(self, command: str) -> None:
        """Import what renders a command's reports, which takes a moment."""
        _function(self.by_command.get(command, self.renderer))

    def load_diff(self) -> None:
        """Import what renders diffs, which takes a moment."""
        if self.diff_renderer is not None:
            _function(self.diff_renderer)


def _function(renderer: str) -> Any:
    module, _, name = renderer.partition(":")
    return getattr(import_module(f"hookcli.formats.{module}"), name)
