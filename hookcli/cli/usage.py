"""Usage errors of typer's in three lines, as all others: its words, without those of its parts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from typing import Any

from hookcli.cli.values import near
from hookcli.errors import RequestError

_OTHERS = re.compile(r"\.? (?:\(Possible options: |\(?Did you mean:? )([^)?]+)[)?]+")
_CHOICE = re.compile(r"'([^']*)' is not one of ('.*')")
_WORDS = (
    ("Value error, ", ""),
    (", unable to parse string as an integer", ""),
    (", unable to parse string as a number", ""),
    ("Input should be", "it should be"),
)


def usage_error(error: Any, arguments: list[str], commands: Collection[str]) -> RequestError:
    """The error of a command line that typer refused."""
    message = " ".join(str(error.format_message()).split())
    guess = _meant(message)
    message = _OTHERS.sub("", message).rstrip(".")
    for word, ours in _WORDS:
        message = message.replace(word, ours)
    command = ["hookcli", *(one for one in arguments[:1] if one in commands)]
    return RequestError(
        message[:1].lower() + message[1:],
        place=shlex.join(["hookcli", *arguments]),
        hint=f"did you mean {guess}?" if guess else f"see {' '.join(command)} --help",
    )


def _meant(message: str) -> str | None:
    """What was likely meant, of what typer or the message itself names."""
    choice = _CHOICE.search(message)
    if choice is not None:
        return near(choice[1], re.findall(r"'([^']*)'", choice[2]))
    others = _OTHERS.search(message)
    if others is None:
        return None
    named = [one.strip("' ") for one in others[1].split(",")]
    word = re.split(r"[ :]+", message[: others.start()])[-1].strip("'.")
    return near(word, named) or named[0]
