"""`hookcli explain`: the reference. A page, a list or a schema, by its name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal

from hookcli.cli.errors import reporting
from hookcli.cli.flags import completions
from hookcli.cli.flags.signatures import option
from hookcli.console import Console
from hookcli.errors import RequestError, Status
from hookcli.reference.families import FAMILIES, Family
from hookcli.reference.schemas import SCHEMAS
from hookcli.text import nearest, try_instead

_WIDEST = 80  # columns: longer lines are hard to read
_SCHEMA = "schema"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainFlags:
    """The topic to explain, and the format of a list."""

    what: str | None = option(
        text="A name, such as finite, or with its family: hook:full_backward, action:scale, "
        "rule:finite, format:sarif, schema:config; a family, such as rules; or columns.",
        metavar="WORD",
        default="an overview",
        complete=completions.topics,
    )
    format_: Literal["table", "json"] = option(
        "-f", "--format", text="Output format of a family.", section="Output", unset="table"
    )


EXAMPLES = (
    ("when a hook fires, what it gets and may return", "hookcli explain full_backward"),
    ("what a rule computes, and its options", "hookcli explain rule:finite"),
    ("all rules of `hookcli check`", "hookcli explain rules"),
    ("the columns of every command, and --sort", "hookcli explain columns"),
)


def explain(flags: ExplainFlags) -> int:
    """Explain a hook kind, action, rule, format or schema.

    A family, such as rules, lists its names, and columns all columns. Without a word, an overview
    is printed.
    """
    console = Console()

    def command() -> int:
        console.out(_answer(flags, console.width()))
        return Status.FINE

    return reporting(console, command)


def _answer(flags: ExplainFlags, width: int) -> str:
    """Return what the word names.

    Raises
    ------
    RequestError : the word is unknown, or only families can be printed in this format.
    """
    text = flags.what
    if text in FAMILIES:
        family = FAMILIES[text]()
        is_json = flags.format_ == "json"
        return json.dumps(family.data(), indent=2) + "\n" if is_json else family.table(width)
    if flags.format_ == "json":
        raise RequestError(
            "only the names of a family can be printed as JSON",
            place="hookcli explain -f json" if text is None else f"hookcli explain {text} -f json",
            hint=f"name a family: {', '.join(FAMILIES)}",
        )
    return _overview() if text is None else _page(text, min(width, _WIDEST))


def _overview() -> str:
    """Return the families with their names in short, and the schemas."""
    lines = ["hookcli explain WORD, where WORD is one of:", ""]
    for plural, load in FAMILIES.items():
        family = load()
        first = next(iter(family.members))
        names = f"all {len(family.members)} {_NOUNS[plural]}"
        lines += [f"  {plural:18} {names}", f"  {f'{family.singular}:{first}':18} one of them"]
    lines += [
        f"  {'columns':18} the columns of all tables, and --sort",
        f"  {f'{_SCHEMA}:config':18} the JSON Schema of a document, which is one of",
        f"  {'':18} {', '.join(SCHEMAS)}",
        "",
        "The family before the colon can be omitted: `hookcli explain finite`.",
    ]
    return "\n".join(lines) + "\n"


_NOUNS = {
    "hooks": "kinds of hooks",
    "actions": "actions of a hook",
    "rules": "rules of `hookcli check` and `hookcli run`",
    "formats": "output formats",
}


def _page(text: str, width: int) -> str:
    """Return the page of `hook:NAME`, `rule:NAME` and so on, of NAME or columns, or a schema.

    Raises
    ------
    RequestError : the name is unknown; the hint names the nearest one of all families.

    """
    from hookcli.reference.columns import TOPIC, columns_page

    if text == TOPIC:
        return columns_page(width)
    singular, _, name = text.rpartition(":")
    if singular == _SCHEMA and name in SCHEMAS:
        return json.dumps(SCHEMAS[name](), indent=2) + "\n"
    families = [load() for load in FAMILIES.values()]
    for family in families:
        if singular in {"", family.singular} and name in family.members:
            return family.page(name, width)
    guess = _nearest(text, families)
    raise RequestError(
        f"unknown hook kind, action, rule, format or schema '{text}'",
        place=f"hookcli explain {text}",
        hint=try_instead(
            guess and f"hookcli explain {guess}", "run `hookcli explain` for an overview"
        ),
    )


def _nearest(text: str, families: list[Family]) -> str | None:
    """Return the word that `text` is likely meant to be; with its family if one was typed."""
    from hookcli.reference.columns import TOPIC
    from hookcli.rules.catalogue import rules_of_options

    _, colon, name = text.rpartition(":")
    options = {} if colon else rules_of_options()
    bare = [member for family in families for member in family.members]
    full = [f"{family.singular}:{member}" for family in families for member in family.members]
    full += [f"{_SCHEMA}:{document}" for document in SCHEMAS]
    words = [*full] if colon else [*bare, *FAMILIES, TOPIC, _SCHEMA, *options]
    guess = next((word for word in words if word.startswith(text)), None) or nearest(text, words)
    if guess is None and colon:  # the name is of another family
        guess = next((word for word in full if word.endswith(f":{name}")), None)
    if guess in options and guess not in bare:
        return options[guess]
    return f"{_SCHEMA}:config" if guess == _SCHEMA else guess
