"""`hookcli explain`: all that is known of one kind of hook, action, rule, or format."""

from __future__ import annotations

from dataclasses import dataclass

from hookcli.cli.errors import reporting
from hookcli.cli.flags.signatures import argument
from hookcli.console import Console
from hookcli.errors import RequestError, Status
from hookcli.text import nearest, try_instead

_WIDEST = 80  # columns: longer lines are hard to read


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainFlags:
    """What to explain."""

    what: str = argument(
        "hook:full_backward, action:scale, rule:finite, format:sarif, or the name.",
        metavar="NAME",
    )


def explain(flags: ExplainFlags) -> int:
    """Explain a kind of hook, an action, a rule, or a format.

    When it fires, what it is given, what it may change, or judges, and what to know of it.
    """
    console = Console()

    def command() -> int:
        console.out(_page(flags.what, min(console.width(), _WIDEST)))
        return Status.FINE

    return reporting(console, command)


def _page(text: str, width: int) -> str:
    """The page of `hook:NAME`, `action:NAME`, `rule:NAME`, `format:NAME` or NAME.

    Raises
    ------
    RequestError : there is no such name; a near one is suggested.

    """
    from hookcli.reference.families import FAMILIES

    singular, colon, name = text.rpartition(":")
    families = [load() for load in FAMILIES.values()]
    for family in families:
        if singular in {"", family.singular} and name in family.members:
            return family.page(name, width)
    known = [
        f"{family.singular}:{member}" if colon else member
        for family in families
        for member in family.members
    ]
    guess = nearest(text, known)
    raise RequestError(
        f"there is no hook kind, action, rule or format '{text}'",
        place=f"hookcli explain {text}",
        hint=try_instead(guess, "see hookcli list --help"),
    )
