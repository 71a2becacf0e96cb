"""`hookcli list`: the hook kinds, actions, rules and formats."""

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
    """The family to list, and the format."""

    family: str = argument("The family to list.", choices=tuple(FAMILIES))
    format_: Literal["table", "json"] = option(
        "-f", "--format", text="Output format.", section="Output", unset="table"
    )


EXAMPLES = (
    ("all kinds of hooks", "hookcli list hooks"),
    ("what a hook can do when it fires", "hookcli list actions"),
    ("all rules of `hookcli check`, as JSON", "hookcli list rules -f json"),
)


def list_(flags: ListFlags) -> int:
    """List the hook kinds, actions, rules or formats."""
    console = Console()
    pages = FAMILIES[flags.family]()

    def command() -> int:
        if flags.format_ == "json":
            console.out(json.dumps(pages.data(), indent=2) + "\n")
        else:
            console.out(pages.table(console.width()))
        return Status.FINE

    return reporting(console, command)
