"""The formats by name. Each is a function of a report and a view; the command line writes.

>>> FORMATS["table"](report, View())  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable

from hookcli.formats import json, markdown, table, tree
from hookcli.formats.view import View
from hookcli.report.model import Report

FORMATS: dict[str, Callable[[Report, View], str]] = {
    "table": table.render,
    "tree": tree.render,
    "json": json.render,
    "markdown": markdown.render,
}
