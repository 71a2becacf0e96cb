"""`hookcli explain`: a page about one hook kind, action, rule or format."""

from __future__ import annotations

from dataclasses import dataclass

from hookcli.cli.errors import reporting
from hookcli.cli.flags import completions
from hookcli.cli.flags.signatures import argument
from hookcli.console import Console
from hookcli.errors import RequestError, Status
from hookcli.text import join_or, nearest, try_instead

_WIDEST = 80  # columns: longer lines are hard to read


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainFlags:
    """The topic to explain."""

    what: str = argument(
        "The name, such as finite, or with its family: hook:full_backward, action:scale, "
        "rule:finite, format:sarif; or columns.",
        metavar="NAME",
        complete=completions.topics,
    )


EXAMPLES = (
    ("when a hook fires, what it gets and may return", "hookcli explain full_backward"),
    ("what a rule computes, and its options", "hookcli explain rule:finite"),
    ("which programs read a format", "hookcli explain format:sarif"),
    ("the columns of every command, and --sort", "hookcli explain columns"),
)


def explain(flags: ExplainFlags) -> int:
    """Explain a hook kind, action, rule or format, or all columns.

    `hookcli list` lists the names.
    """
    console = Console()

    def command() -> int:
        console.out(_page(flags.what, min(console.width(), _WIDEST)))
        return Status.FINE

    return reporting(console, command)


def _page(text: str, width: int) -> str:
    """Return the page of `hook:NAME`, `action:NAME`, `rule:NAME`, `format:NAME`, NAME or columns.

    Raises
    ------
    RequestError : the name is unknown; the hint names a similar one.

    """
    from hookcli.reference.columns import TOPIC, columns_page
    from hookcli.reference.families import FAMILIES

    if text == TOPIC:
        return columns_page(width)
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
    known.append(TOPIC)
    guess = next((name for name in known if name.startswith(text)), None) or nearest(text, known)
    raise RequestError(
        f"unknown hook kind, action, rule or format '{text}'",
        place=f"hookcli explain {text}",
        hint=try_instead(
            guess and f"hookcli explain {guess}",
            "run " + join_or([f"`hookcli list {family}`" for family in FAMILIES]),
        ),
    )
