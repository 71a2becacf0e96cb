"""A and B as they are typed → what to run on each side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hookcli.cli.input_files import files_read
from hookcli.cli.requests import Request, request_of
from hookcli.console import Console
from hookcli.errors import HookcliError, ProblemsError, RequestError
from hookcli.spec.request import Command
from hookcli.text import nearest

_KEYS = ("dtype", "device", "mode", "weights", "arg")
_MODES = ("train", "eval", "as-is")
_NOT_OURS = ("formats", "output", "columns", "sort")  # of the whole command, not of a side


@dataclass(frozen=True, slots=True)
class SideText:
    """`SOURCE?dtype=bfloat16&device=cpu`, taken apart. `settings` are (key, value) as typed."""

    text: str
    source: str
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def is_report(self) -> bool:
        """Whether a saved report is named."""
        return self.source.endswith(".json")

    @property
    def is_config(self) -> bool:
        """Whether a configuration is named."""
        return self.source.endswith((".yaml", ".yml"))


@dataclass(frozen=True, slots=True)
class SideRequest:
    """What one side asks for, and the files that it reads."""

    request: Request
    read: tuple[str, ...]
    own_weights: bool


def parse_side(text: str) -> SideText:
    """Take a side apart. A file of that very name is taken as it is.

    Raises
    ------
    RequestError : a setting is unknown or has no value.
    """
    source, mark, query = text.rpartition("?")
    if not mark or Path(text).exists():
        return SideText(text, text)
    settings = []
    for part in query.split("&"):
        key, _, value = part.partition("=")
        if key not in _KEYS or not value:
            guess = nearest(key, _KEYS)
            what = "has no value" if key in _KEYS else "is no setting of a side"
            raise RequestError(
                f"'{key}' {what}",
                place=text,
                hint=f"did you mean {guess}?"
                if guess and key not in _KEYS
                else "write SOURCE?dtype=bfloat16&device=cpu; settings are " + ", ".join(_KEYS),
            )
        if key == "mode" and value not in _MODES:
            raise RequestError(
                f"'{value}' is no mode", place=text, hint=f"modes are {', '.join(_MODES)}"
            )
        settings.append((key, value))
    return SideText(text, source, tuple(settings))


def side_request(
    side: SideText, command: Command, given: Mapping[str, Any], console: Console
) -> SideRequest:
    """The request of one side: its own settings over the command's flags, these over its file.

    Raises
    ------
    RequestError : it cannot be; the place is the side as it was typed.
    """
    own: dict[str, Any] = {**given, **dict.fromkeys(_NOT_OURS)}
    own["config"] = side.source if side.is_config else None
    own["model"] = None if side.is_config else side.source
    own["arg"] = list(given["arg"] or ())
    own["weights"] = None
    for key, value in side.settings:
        if key == "arg":
            own["arg"].append(value)
        else:
            own[key] = value
    request = request_of(command, own, console)
    weights = request.spec.model.weights is not None
    return SideRequest(request, tuple(files_read(request.spec, own["config"])), weights)


def prefix_side(error: HookcliError, name: str) -> HookcliError:
    """The error, said of side A or B."""
    if isinstance(error, ProblemsError):
        for problem in error.problems:
            problem.message = f"{name}: {problem.message}"
    error.message = f"{name}: {error.message}"
    return error
