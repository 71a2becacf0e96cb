"""The data type of a format: one row of the registry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hookcli.comparison.diff import Diff
    from hookcli.comparison.trainings.training_diff import TrainingDiff
    from hookcli.formats.view import View
    from hookcli.report.report import Report
    from hookcli.report.training import TrainingReport


@dataclass(frozen=True, slots=True)
class Format:
    """One format: its description for users, and the functions that render it.

    A renderer is "module:function" below hookcli.formats, imported when it is called: a function
    of a report or diff and of a view that returns a str, or files by name if the format
    `writes_folder`. `by_command` contains the renderers of commands whose reports are shown
    differently; with it, the view is checked first.
    """

    name: str
    description: str  # a line of `hookcli list formats`
    read_by: str
    example: str
    renderer: str
    by_command: Mapping[str, str] = field(default_factory=dict)
    diff_renderer: str | None = None  # None: diffs do not support the format
    training_renderer: str | None = None  # None: reports of scripts do not support the format
    run_diff_renderer: str | None = None  # of a diff of two trainings
    notes: tuple[str, ...] = ()
    needs_timings: bool = False  # which require a run with real tensors
    shows_flops: bool = False  # which the run then counts, whatever its command
    has_step_summary: bool = False  # a check is also appended to the summary of the CI step
    has_rank_files: bool = False  # each rank writes its own file
    writes_folder: bool = False  # the target is a folder, to which files are added: see `files`
    opened_by: str = ""  # the program that shows the text, which a terminal cannot
    package: str = ""  # the package that the format needs, from the extra of its name

    def __call__(self, report: Report, view: View) -> str:
        """Return the report as text.

        Raises
        ------
        LookupError : the format writes files into a folder.
        RequestError : the view has a column or sort key that the report's command does not support.
        """
        if self.writes_folder:
            raise LookupError(f"the format {self.name} has no text")
        if self.by_command:
            from hookcli.formats.view import check_view

            check_view(report, view)
        render = _function(self.by_command.get(report.command, self.renderer))
        return str(render(report, view))

    def files(self, report: Report, view: View) -> dict[str, bytes]:
        """Return the contents of the files of a format that writes a folder, by name.

        The names are new ones, so that files of other reports stay.
        """
        contents: dict[str, bytes] = _function(self.renderer)(report, view)
        return contents

    def render_diff(self, diff: Diff, view: View) -> str:
        """Return the diff as text.

        Raises
        ------
        LookupError : diffs do not support the format.
        """
        if self.diff_renderer is None:
            raise LookupError(f"a diff does not support the format {self.name}")
        return str(_function(self.diff_renderer)(diff, view))

    def render_training(self, report: TrainingReport, view: View) -> str:
        """Return the report of a training script as text.

        Raises
        ------
        LookupError : such reports do not support the format, or it writes files into a folder.
        RequestError : the view has a column or sort key that the report does not support.
        """
        if self.training_renderer is None or self.writes_folder:
            raise LookupError(f"the format {self.name} has no text of a training")
        from hookcli.formats.run.selection import check_view

        check_view(report, view)
        return str(_function(self.training_renderer)(report, view))

    def training_files(self, report: TrainingReport, view: View) -> dict[str, bytes]:
        """Return the contents of the files of a format that writes a folder; see `files`.

        Raises
        ------
        LookupError : reports of training scripts do not support the format.
        """
        if self.training_renderer is None:
            raise LookupError(f"the format {self.name} has no files of a training")
        contents: dict[str, bytes] = _function(self.training_renderer)(report, view)
        return contents

    def render_run_diff(self, diff: TrainingDiff, view: View) -> str:
        """Return the comparison of two trainings as text.

        Raises
        ------
        LookupError : diffs do not support the format.
        """
        if self.run_diff_renderer is None:
            raise LookupError(f"a diff does not support the format {self.name}")
        return str(_function(self.run_diff_renderer)(diff, view))

    def load(self, command: str) -> None:
        """Import the renderer of a command's reports, which takes time."""
        _function(self.by_command.get(command, self.renderer))

    def load_diff(self) -> None:
        """Import the renderer of diffs, which takes time."""
        if self.diff_renderer is not None:
            _function(self.diff_renderer)


def _function(renderer: str) -> Any:
    module, _, name = renderer.partition(":")
    return getattr(import_module(f"hookcli.formats.{module}"), name)
