"""`hookcli list`: what there is to choose from."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeAlias

import typer

from hookcli.cli.errors import reporting
from hookcli.console import Console
from hookcli.errors import Status
from hookcli.formats.registry import FORMATS

What: TypeAlias = Literal["hooks", "actions", "rules", "formats"]


def list_(
    what: Annotated[What, typer.Argument(help="What to list.")],
    format_: Annotated[
        Literal["table", "json"], typer.Option("-f", "--format", help="How to print it.")
    ] = "table",
) -> int:
    """List what there is to choose from."""
    console = Console()

    def command() -> int:
        if format_ == "json":
            console.out(json.dumps(_rows(what), indent=2) + "\n")
        else:
            console.out(_table(what, console.width()))
        return Status.FINE

    return reporting(console, command)


def _table(what: What, width: int) -> str:
    if what == "formats":
        wide = max(map(len, FORMATS))
        return "".join(f"{name:<{wide}}  {row.description}\n" for name, row in FORMATS.items())
    from hookcli.reference import hooks

    if what == "rules":
        from hookcli.reference.rules import rules_table

        return rules_table(width)
    return {"hooks": hooks.hooks_table, "actions": hooks.actions_table}[what](width)


def _rows(what: What) -> list[dict[str, Any]]:
    """An object each: its name, what it is, and all that the catalogue knows of it."""
    if what == "formats":
        return [{"name": name, "description": row.description} for name, row in FORMATS.items()]
    if what == "hooks":
        from hookcli.catalogue.kinds import CATALOGUE as KINDS

        return [
            {"name": kind.name, "description": kind.fires, **kind.facts()}
            for kind in KINDS.values()
        ]
    if what == "rules":
        from hookcli.reference.rules import rule_data
        from hookcli.rules.catalogue import CATALOGUE as RULES

        return [rule_data(rule) for rule in RULES.values()]
    from hookcli.catalogue.actions import CATALOGUE as ACTIONS

    return [
        {"name": action.name, "description": action.does, **action.facts()}
        for action in ACTIONS.values()
    ]
