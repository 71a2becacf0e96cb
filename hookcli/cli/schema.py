"""`hookcli schema`: JSON Schemas of what hookcli reads and writes."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from hookcli.cli.options import reporting
from hookcli.console import Console
from hookcli.errors import Status


def schema(
    what: Annotated[Literal["report"], typer.Argument(help="Whose schema.")],
) -> int:
    """Print the JSON Schema (2020-12) of a document."""
    console = Console()

    def command() -> int:
        from hookcli.report.schema import json_schema

        schemas = {"report": json_schema}
        console.out(json.dumps(schemas[what](), indent=2) + "\n")
        return Status.FINE

    return reporting(console, command)
