"""What a CI runner provides: the root of the checkout, and the file of the step summary."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hookcli.console import Console
from hookcli.outputs.special_files import write_in_place

if TYPE_CHECKING:
    from hookcli.formats.view import View
    from hookcli.report.report import Report
    from hookcli.report.training import TrainingReport

_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE")  # GitHub, GitLab, Jenkins
_SUMMARY = "GITHUB_STEP_SUMMARY"


def source_root() -> tuple[str, str]:
    """Return (root, start): the folder to which paths are relative, and the working directory.

    The root is the git checkout that contains the working directory, else the checkout that the CI
    runner names, else the working directory. Both paths are absolute, with links resolved.
    """
    try:
        start = Path.cwd().resolve()
    except OSError:  # the folder was removed
        return "", ""
    parents = (start, *start.parents)
    named = [Path(os.path.realpath(os.environ[key])) for key in _CHECKOUTS if os.environ.get(key)]
    roots = [folder for folder in parents if os.path.exists(folder / ".git")]  # noqa: PTH110  # never raises
    roots += [folder for folder in named if folder in parents]
    return str(roots[0] if roots else start), str(start)


def write_summary(report: Report | TrainingReport, view: View, console: Console) -> None:
    """Append the report to the summary of a GitHub Actions step, if there is one."""
    name = os.environ.get(_SUMMARY)
    if not name:
        return
    from hookcli.formats.ci.step_summary import brief

    text = brief(report, view)
    try:
        write_in_place(name, (text + "\n").encode("utf-8", "backslashreplace"), append=True)
    except OSError as error:
        console.note(f"no step summary: cannot write {name}: {error.strerror}")
