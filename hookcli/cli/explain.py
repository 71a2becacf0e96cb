"""`hookcli explain`: all that is known of one kind of hook, or of one action."""

from __future__ import annotations

from typing import Annotated

import typer

from hookcli.cli.reporting import reporting
from hookcli.cli.values import near
from hookcli.console import Console
from hookcli.errors import RequestError, Status

_WIDEST = 80  # columns: longer lines are hard to read


def explain(
    what: Annotated[
        str,
        typer.Argument(metavar="NAME", help="hook:full_backward, action:scale, or the name alone."),
    ],
) -> int:
    """Explain a kind of hook, or an action.

    When it fires, what it is given, what it may change, and what to know of it.
    """
    console = Console()

    def command() -> int:
        console.out(_page(what, min(console.width(), _WIDEST)))
        return Status.FINE

    return reporting(console, command)


def _page(text: str, width: int) -> str:
    """The page of `hook:NAME`, `action:NAME` or NAME.

    Raises
    ------
    RequestError : there is no such name; a near one is suggested.

    """
    from hookcli.actions.catalogue import CATALOGUE as ACTIONS
    from hookcli.formats.pages import action_page, kind_page
    from hookcli.hooks.catalogue import CATALOGUE as KINDS

    family, colon, name = text.rpartition(":")
    if family in {"", "hook"} and name in KINDS:
        return kind_page(KINDS[name], width)
    if family in {"", "action"} and name in ACTIONS:
        return action_page(ACTIONS[name], width)
    known = [f"hook:{one}" for one in KINDS] + [f"action:{one}" for one in ACTIONS]
    guess = near(text, known if colon else [*KINDS, *ACTIONS])
    raise RequestError(
        f"there is no hook kind or action '{text}'",
        place=f"hookcli explain {text}",
        hint=f"did you mean {guess}?" if guess else "see hookcli list hooks, hookcli list actions",
    )
