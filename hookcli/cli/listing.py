"""`hookcli list`: what there is to choose from."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from hookcli.cli.options import reporting
from hookcli.console import Console
from hookcli.errors import Status
from hookcli.formats.names import FORMATS


def list_(
    what: Annotated[Literal["formats"], typer.Argument(help="What to list.")],
    format_: Annotated[
        Literal["table", "json"], typer.Option("-f", "--format", help="How to print it.")
    ] = "table",
) -> int:
    """List what there is to choose from."""
    console = Console()

    def command() -> int:
        entries = {"formats": FORMATS}[what]
        if format_ == "json":
            rows = [{"name": name, "description": text} for name, text in entries.items()]
            console.out(json.dumps(rows, indent=2) + "\n")
        else:
            wide = max(map(len, entries))
            console.out("".join(f"{name:<{wide}}  {text}\n" for name, text in entries.items()))
        return Status.FINE

    return reporting(console, command)
