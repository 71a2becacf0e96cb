"""`hookcli init`: a preset as YAML to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hookcli.cli.errors import reporting
from hookcli.cli.snapshot_request import seen_from
from hookcli.console import Console
from hookcli.errors import RequestError, Status


def init(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="path.py, path.py:Net or package.module:Net.")
    ],
    preset: Annotated[
        Literal["inspect", "grads", "trace"],
        typer.Option("--preset", help="The command whose hooks to start from."),
    ] = "trace",
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write it there; nothing is replaced."),
    ] = None,
) -> int:
    """Write a configuration to start from: a preset, as YAML."""
    console = Console()

    def command() -> int:
        from hookcli.config.template import initial_text
        from hookcli.models.sources.parse import parse_source

        parse_source(model)
        if output is None or output == "-":
            console.out(initial_text(model, preset))
            return Status.FINE
        from hookcli.cli.output import check_writable, write_file

        file = Path(output)
        check_writable(file)
        if file.is_file() or file.is_symlink():
            raise RequestError(
                f"{file} is there already",
                place=f"-o {output}",
                hint="name another file, or remove it first",
            )
        write_file(file, initial_text(seen_from(file.parent, model), preset))
        return Status.FINE

    return reporting(console, command)
