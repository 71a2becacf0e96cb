"""`hookcli init`: a preset as YAML to start from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hookcli.cli.errors import reporting
from hookcli.cli.flags.options import new_file
from hookcli.cli.flags.signatures import argument, option
from hookcli.cli.snapshot_request import seen_from
from hookcli.console import Console
from hookcli.errors import RequestError, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class InitFlags:
    """What to start from, and where to write it."""

    model: str = argument("path.py, path.py:Net or package.module:Net.", metavar="MODEL")
    preset: Literal["inspect", "grads", "trace"] = option(
        "--preset", text="The command whose hooks to start from.", unset="trace"
    )
    output: str | None = new_file()


def init(flags: InitFlags) -> int:
    """Write a configuration to start from: a preset, as YAML."""
    console = Console()

    def command() -> int:
        from hookcli.config.template import initial_text
        from hookcli.models.sources.parse import parse_source

        parse_source(flags.model)
        if flags.output is None or flags.output == "-":
            console.out(initial_text(flags.model, flags.preset))
            return Status.FINE
        from hookcli.cli.output import check_writable, write_file

        file = Path(flags.output)
        check_writable(file)
        if file.is_file() or file.is_symlink():
            raise RequestError(
                f"{file} is there already",
                place=f"-o {flags.output}",
                hint="name another file, or remove it first",
            )
        write_file(file, initial_text(seen_from(file.parent, flags.model), flags.preset))
        return Status.FINE

    return reporting(console, command)
