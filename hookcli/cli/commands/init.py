"""`hookcli init`: a configuration to start from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hookcli.cli.errors import reporting
from hookcli.cli.flags import completions
from hookcli.cli.flags.options import new_file
from hookcli.cli.flags.signatures import argument, option
from hookcli.cli.snapshot_request import seen_from
from hookcli.console import Console
from hookcli.errors import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class InitFlags:
    """The model, the preset and the file."""

    model: str = argument(
        "A model: path.py, path.py:Net, package.module:Net, file.pt, hf:FOLDER, timm:NAME.",
        metavar="MODEL",
        complete=completions.models,
    )
    preset: Literal["inspect", "grads", "trace"] = option(
        "--preset",
        text="Write the hooks that this command attaches.",
        section="Hooks",
        unset="trace",
    )
    output: str | None = new_file()


EXAMPLES = (
    ("a configuration on stdout", "hookcli init model.py"),
    (
        "a file with the hooks of `hookcli grads`",
        "hookcli init model.py --preset grads -o hooks.yaml",
    ),
    ("run it", "hookcli trace -c hooks.yaml"),
)


def init(flags: InitFlags) -> int:
    """Write a configuration (YAML) to start from.

    It contains the hooks of a preset, and examples as comments.
    """
    console = Console()

    def command() -> int:
        from hookcli.config.template import initial_text
        from hookcli.models.sources.parse import parse_source

        parse_source(flags.model)
        if flags.output is None or flags.output == "-":
            console.out(initial_text(flags.model, flags.preset))
            return Status.FINE
        from hookcli.cli.output import check_new, file_of, write_file

        file = file_of(flags.output)
        check_new(file, "choose another file, or remove this one first")
        write_file(file, initial_text(seen_from(file.parent, flags.model), flags.preset))
        return Status.FINE

    return reporting(console, command)
