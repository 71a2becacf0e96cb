"""Places of a report as files and lines, relative to the root of the user's repository."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from urllib.parse import quote

from hookcli.formats.view import View
from hookcli.report.findings import CheckRow
from hookcli.report.report import Report

_PLACE = re.compile(r"(?P<file>.+?):(?P<line>\d{1,9})(?:: .*)?", re.DOTALL)
_MODULE = re.compile(r"(?P<file>.+\.\w+)(?::\w+)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Source:
    """A line of a file. `inside`: the path is relative to the root."""

    file: str
    line: int
    inside: bool

    def uri(self) -> str:
        """Return the file as a URI: relative if it is inside."""
        text = quote(self.file, errors="replace")
        return text if self.inside or not text.startswith("/") else f"file://{text}"


def source_of(place: str | None, view: View) -> Source | None:
    """Return the line of a place such as "net.py:12" or "hooks.yaml:14: hooks[2].at".

    None if the place is not in a file, such as a flag.
    """
    match = _PLACE.fullmatch(place or "")
    return None if match is None else _named(match["file"], int(match["line"]), view)


def _named(file: str, line: int, view: View) -> Source:
    if not view.root:
        return Source(file, max(line, 1), inside=not file.startswith("/"))
    whole = posixpath.normpath(posixpath.join(view.start or view.root, file))
    home = view.root.rstrip("/") + "/"
    inside = whole.startswith(home)
    return Source(whole.removeprefix(home) if inside else whole, max(line, 1), inside)


def model_source(report: Report, view: View) -> Source:
    """Return the line of the model's class; if it is not known, the first line of the file."""
    source = source_of(report.model.place, view)
    if source is not None:
        return source
    named = _MODULE.fullmatch(report.model.source)
    file = named["file"] if named is not None else report.model.source
    return _named(file or "model", 1, view)


def finding_source(row: CheckRow, report: Report, view: View) -> Source:
    """Return the line of a finding, or of the model: viewers hide a finding without a line."""
    return source_of(row.place, view) or model_source(report, view)


def folder_uri(folder: str) -> str:
    """Return a folder as a URI that ends in a slash."""
    return f"file://{quote(folder.rstrip('/'), errors='replace')}/"
