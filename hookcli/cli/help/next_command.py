"""Hints that are complete commands: the command line as it was typed, corrected."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from hookcli.errors import HookcliError, RequestError
from hookcli.sentences import missing, unknown
from hookcli.text import join_or, nearest, try_instead

if TYPE_CHECKING:
    from hookcli.console import ColorOption

_typed: ContextVar[tuple[str, ...]] = ContextVar("typed", default=())
_MOST = 4  # commands in a hint
_SAVED = (".json",)
_CONFIGURATIONS = (".yaml", ".yml")
_MODEL = re.compile(
    r".*\.(py|pt|pth|pt2|ts|pkl|bin|onnx|safetensors|json|ya?ml)(:.*)?|[\w.]+:[\w.]+|.*/.*"
)
_COLORS = ("auto", "always", "never")
_Error = TypeVar("_Error", bound=HookcliError)


def remember(arguments: Sequence[str]) -> None:
    """Remember the command line, for the hints of errors that are found later."""
    _typed.set(tuple(arguments))


def typed() -> tuple[str, ...]:
    """Return the command line that was remembered."""
    return _typed.get()


def command_line(arguments: Iterable[str]) -> str:
    """Return the command line as it can be copied into a shell."""
    return shlex.join(["hookcli", *arguments])


def color_option(arguments: Sequence[str]) -> ColorOption:
    """Return the value of --color of a command line that is wrong and so has not been read."""
    for flag, value in zip(arguments, [*arguments[1:], ""], strict=True):
        color = flag.removeprefix("--color=") if flag.startswith("--color=") else value
        if flag.startswith("--color") and color in _COLORS:
            return cast("ColorOption", color)
    return "auto"


def run_hint(commands: Sequence[str]) -> str:
    """Return the hint to run one of these commands."""
    hint = f"run {join_or([f'`{command}`' for command in commands[:_MOST]])}"
    left = len(commands) - _MOST
    return f"{hint} ({left} more not shown)" if left > 0 else hint


def with_command(error: _Error) -> _Error:
    """Make the hint of an error the commands to run, if it knows what to type instead.

    The hint is unchanged if the place of the error was not typed but is, say, in a configuration.
    """
    words = typed()
    index = next((i for i, word in enumerate(words) if _is_place(word, error.place)), None)
    if error.instead and index is not None:
        settings = words[index].removeprefix(error.place)  # of a side of diff
        commands = [
            command_line([*words[:index], f"{name}{settings}", *words[index + 1 :]])
            for name in error.instead
        ]
        error.hint = run_hint(commands)
    return error


def _is_place(word: str, place: str) -> bool:
    return word == place or word.startswith(f"{place}?")


def missing_model() -> RequestError:
    """Return the error of a command that got no model, with the models of the current folder."""
    words = typed()
    commands = [command_line([*words, name]) for name in _models_in(Path())]
    return RequestError(
        missing("MODEL"),
        place=command_line(words),
        hint=run_hint(commands)
        if commands
        else f"name a model, as in `{command_line([*words, 'model.py'])}`, or a configuration with "
        "`-c FILE`",
    )


def _models_in(folder: Path) -> list[str]:
    from hookcli.models.sources.model_files import model_files

    names = (file.as_posix() for file in model_files(folder))
    return [f"./{name}" if name.startswith("-") else name for name in names]


def unknown_command(arguments: Sequence[str], commands: Collection[str]) -> RequestError:
    """Return the error of a command line whose first word is not a command."""
    word, *rest = arguments
    place = command_line(arguments)
    if Path(word).exists() or _MODEL.fullmatch(word):
        later = [argument for argument in rest if argument in commands]
        if later:
            rest.remove(later[0])
        lines = _lines_for(word, rest, later[0] if later else None)
        return RequestError(missing("command"), place=place, hint=run_hint(lines))
    if word == "help":
        lines = [command_line([*rest[:1], "--help"])]
        return RequestError("unknown command 'help'", place=place, hint=run_hint(lines))
    guess = nearest(word, commands)
    return RequestError(
        unknown("command", word),
        place=place,
        hint=try_instead(guess and command_line([guess, *rest]), run_hint(["hookcli --help"])),
    )


def _lines_for(word: str, rest: Sequence[str], command: str | None) -> list[str]:
    """Return the command lines for a file that was named without a command."""
    if word.endswith(_CONFIGURATIONS):
        return [command_line([command or "trace", "-c", word, *rest])]
    if word.endswith(_SAVED):
        return [command_line([command or "render", word, *rest])]
    names = _models_in(Path(word)) if Path(word).is_dir() else []
    return [command_line([command or "inspect", name, *rest]) for name in names or [word]]
