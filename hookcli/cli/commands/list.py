"""`hookcli list`: what there is to choose from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from hookcli.cli.errors import reporting
from hookcli.cli.flags.signatures import argument, option
from hookcli.console import Console
from hookcli.errors import Status
from hookcli.reference.families import FAMILIES


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFlags:
    """What to list, and how."""

    what: str = argument("What to list.", choices=tuple(FAMILIES))
    format_: Literal["table", "json"] = option(
        "-f", "--format", text="How to print it.", unset="table"
    )


def list_(flags: ListFlags) -> int:
    """List what there is to choose from."""
    console = Console()
    family = FAMILIES[flags.what]()

    def command() -> int:
        if flags.format_ == "json":
            console.out(json.dumps(family.data(), indent=2) + "\n")
        else:
            console.out(family.table(console.width()))
        return Status.FINE

    return reporting(console, command)
