"""What a CI runner gives a command: the root that files are named from, a file for its summary."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hookcli.console import Console

if TYPE_CHECKING:
    from hookcli.formats.view import View
    from hookcli.report.report import Report

_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR", "WORKSPACE")  # GitHub, GitLab, Jenkins
_SUMMARY = "GITHUB_STEP_SUMMARY"


def source_root() -> tuple[str, str]:
    """(root, start): the folder that files are named from, and the working directory.

    The root is that of the git checkout around the working directory; without one, the checkout
    that the CI runner names; else the working directory. Both absolute, links resolved.
    """
    try:
        start = Path.cwd().resolve()
    except OSError:  # the folder is gone
        return "", ""
    around = (start, *start.parents)
    named = [Path(os.path.realpath(os.environ[key])) for key in _CHECKOUTS if os.environ.get(key)]
    homes = [folder for folder in around if os.path.exists(folder / ".git")]  # noqa: PTH110  # never raises
    homes += [folder for folder in named if folder in around]
    return str(homes[0] if homes else start), str(start)


def write_summary(report: Report, view: View, console: Console) -> None:
    """Add the report to the summary of a GitHub Actions step, where there is one."""
    name = os.environ.get(_SUMMARY)
    if not name:
        return
    from hookcli.formats.check.markdown import brief

    try:
        with Path(name).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(brief(report, view) + "\n")
    except OSError as error:
        console.note(f"the step has no summary: {name} cannot be written: {error.strerror}")
