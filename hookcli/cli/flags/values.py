"""Checks of the values of flags. The place of each error is the flag as it was typed."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from hookcli.errors import RequestError
from hookcli.formats.names import (
    ALIASES,
    DEFAULT_COLUMNS,
    SORTS,
    TABLES,
    columns_of,
    common,
    sorts_of,
)
from hookcli.sentences import unknown
from hookcli.spec.request import Interpreter
from hookcli.text import listed_hint, nearest, try_instead

if TYPE_CHECKING:
    from hookcli.spec.inputs import InputSpec


def parse_columns(text: str | None, command: str | None) -> tuple[str, ...]:
    """Return the columns of --columns; with command None a column of any command is valid.

    Raises
    ------
    RequestError : a column is unknown; the hint names a similar one.

    """
    if text is None:
        return DEFAULT_COLUMNS
    text = ",".join(ALIASES.get(name.strip(), name) for name in text.split(","))
    return _names(text, known_columns(command), flag="--columns", noun="column")


def parse_sort(text: str | None, command: str | None) -> str | None:
    """Return the value of --sort: a name, with a minus before it for the reverse order.

    Raises
    ------
    RequestError : the rows cannot be sorted by this name; the hint lists those that can be used.

    """
    if text is None:
        return None
    minus = "-" if text.startswith("-") else ""
    name = text.removeprefix("-").strip()
    name = ALIASES.get(name, name)
    known = SORTS if command is None else sorts_of(command)
    if name not in known:
        raise RequestError(
            f"rows cannot be sorted by '{name}'",
            place=f"--sort {text}",
            hint=listed_hint(name, known, common(known)),
        )
    return minus + name


def known_columns(command: str | None) -> tuple[str, ...]:
    """Return the columns of a command's reports; with command None those of all commands."""
    commands = TABLES if command is None else (command,)
    return tuple(dict.fromkeys(name for each in commands for name in columns_of(each)))


def parse_kinds(text: str | None) -> tuple[str, ...] | None:
    """Return the kinds of --kinds; ("all",) stands for every kind.

    Raises
    ------
    RequestError : a kind is unknown; the hint names a similar one.

    """
    if text is None:
        return None
    if text.strip() == "all":
        return ("all",)
    from hookcli.catalogue.kinds import CATALOGUE

    return _names(text, CATALOGUE, flag="--kinds", noun="kind")


def _names(text: str, known: Collection[str], *, flag: str, noun: str) -> tuple[str, ...]:
    """Return the names between commas, without duplicates."""
    listed = f"choose from {', '.join(common(known) if flag == '--columns' else known)}"
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in known:
            raise RequestError(
                unknown(noun, name),
                place=f"{flag} {text}",
                hint=listed_hint(name, known, common(known))
                if flag == "--columns"
                else try_instead(nearest(name, known), listed),
            )
    if not names:
        raise RequestError(f"{flag} requires a {noun}", place=flag, hint=listed)
    return names


def targets(texts: tuple[str, ...]) -> tuple[InputSpec, ...] | None:
    """Return the parts of the target of --target; None if the flag was not given.

    Raises
    ------
    RequestError : a part is malformed, or a name is given twice.
    """
    from hookcli.spec.inputs import TARGET, parse_inputs

    return parse_inputs(texts, TARGET) or None


def parse_python(text: str) -> Interpreter:
    """Return the interpreter of --python. It is looked for when all else is known.

    Raises
    ------
    RequestError : the value is empty.
    """
    if not text:
        raise RequestError(
            "--python requires a path", place="--python", hint="pass `--python .venv/bin/python`"
        )
    return Interpreter(text, "--python", f"--python {text}")
