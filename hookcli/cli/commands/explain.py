"""`hookcli explain`: all that is known of one kind of hook, action, rule, or format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from hookcli.cli.errors import reporting
from hookcli.console import Console
from hookcli.errors import RequestError, Status
from hookcli.text import nearest

_WIDEST = 80  # columns: longer lines are hard to read


def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="hook:full_backward, action:scale, rule:finite, format:sarif, or the name.",
        ),
    ],
) -> int:
    """Explain a kind of hook, an action, a rule, or a format.

    When it fires, what it is given, what it may change, or judges, and what to know of it.
    """
    console = Console()

    def command() -> int:
        console.out(_page(what, min(console.width(), _WIDEST)))
        return Status.FINE

    return reporting(console, command)


def _page(text: str, width: int) -> str:
    """The page of `hook:NAME`, `action:NAME`, `rule:NAME`, `format:NAME` or NAME.

    Raises
    ------
    RequestError : there is no such name; a near one is suggested.

    """
    from hookcli.catalogue.actions import CATALOGUE as ACTIONS
    from hookcli.catalogue.kinds import CATALOGUE as KINDS
    from hookcli.formats.registry import FORMATS
    from hookcli.reference.formats import format_page
    from hookcli.reference.hooks import action_page, kind_page
    from hookcli.reference.rules import rule_page
    from hookcli.rules.catalogue import CATALOGUE as RULES

    family, colon, name = text.rpartition(":")
    if family in {"", "hook"} and name in KINDS:
        return kind_page(KINDS[name], width)
    if family in {"", "action"} and name in ACTIONS:
        return action_page(ACTIONS[name], width)
    if family in {"", "rule"} and name in RULES:
        return rule_page(RULES[name], width)
    if family in {"", "format"} and name in FORMATS:
        return format_page(name, width)
    families: dict[str, Iterable[str]] = {
        "hook": KINDS,
        "action": ACTIONS,
        "rule": RULES,
        "format": FORMATS,
    }
    known = [f"{what}:{one}" for what, table in families.items() for one in table]
    guess = nearest(text, known if colon else [*KINDS, *ACTIONS, *RULES, *FORMATS])
    raise RequestError(
        f"there is no hook kind, action, rule or format '{text}'",
        place=f"hookcli explain {text}",
        hint=f"did you mean {guess}?" if guess else "see hookcli list --help",
    )
