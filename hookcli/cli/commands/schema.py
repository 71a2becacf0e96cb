"""`hookcli schema`: JSON Schemas of what hookcli reads and writes."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeAlias

import typer

from hookcli.cli.errors import reporting
from hookcli.console import Console
from hookcli.errors import Status

What: TypeAlias = Literal["config", "report", "diff"]


def schema(what: Annotated[What, typer.Argument(help="Whose schema.")]) -> int:
    """Print the JSON Schema (2020-12) of a document."""
    console = Console()

    def command() -> int:
        console.out(json.dumps(_schema(what), indent=2) + "\n")
        return Status.FINE

    return reporting(console, command)


def _schema(what: What) -> dict[str, Any]:
    if what == "config":
        from hookcli.config.schema import config_schema

        return config_schema()
    if what == "diff":
        from hookcli.comparison.schema import diff_schema

        return diff_schema()
    from hookcli.report.schema import json_schema

    return json_schema()
