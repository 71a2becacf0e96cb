"""The answer to a shell that asks what can follow on the command line.

The shell functions are typer's: `_HOOKCLI_COMPLETE=complete_bash hookcli`, with the words typed so
far in other variables. The answer is computed here because typer's renders help with rich, which
takes longer than all the rest and removes what is in brackets, and because bash splits `rule:x`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hookcli.cli.commands import COMMANDS
from hookcli.cli.completion.scripts import SHELLS, script
from hookcli.console import Console
from hookcli.errors import RequestError, Status
from hookcli.outputs.escapes import bash_word, escape, zsh_word

Application: TypeAlias = Callable[..., Any]
_BREAKS = re.compile("[:=]+")  # of COMP_WORDBREAKS, what is part of hookcli's words


@dataclass(frozen=True, slots=True)
class TypedLine:
    """The words before the incomplete one, without the program's name, and the incomplete one.

    The shell replaces only the end of the incomplete word, after the characters in `fixed`.
    """

    words: list[str]
    incomplete: str
    fixed: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """A word that the shell may offer, with its description."""

    value: str
    help: str = ""


def answer(instruction: str, environment: Mapping[str, str], application: Application) -> int:
    """Print what a shell asks for, and return the exit status that it expects.

    `instruction` is `complete_SHELL`, or `source_SHELL` for the script, in either order.
    `application` is the function that makes typer's application.
    """
    console = Console()
    action, _, shell = instruction.partition("_")
    if action in SHELLS:
        action, shell = shell, action
    if shell not in SHELLS or action not in {"complete", "source"}:
        error = RequestError(
            f"unknown completion instruction '{instruction}'",
            place=f"_HOOKCLI_COMPLETE={instruction}",
            hint="run `hookcli --install-completion` to write the shell's script again",
        )
        console.error(error)
        return error.status
    if action == "source":
        console.out(script(shell))
        return Status.FINE
    typed_in, print_for = _SHELLS[shell]
    typed = typed_in(environment)
    text, status = print_for(typed, candidates(typed, application), environment)
    if text:
        console.out(text + "\n")
    return status


def candidates(typed: TypedLine, application: Application) -> list[Completion]:
    """Return what can stand in place of the incomplete word."""
    from typer.main import get_command

    name = typed.words[0] if typed.words else None
    if name is not None and name not in COMMANDS:
        return []
    app: Any = get_command(application(COMMANDS if name is None else (name,), called=[name or ""]))
    command = app if name is None else app.commands[name]
    words = typed.words[1:]
    with command.make_context(name or "hookcli", list(words), resilient_parsing=True) as context:
        parameter, incomplete = _parameter(command, context, words, typed.incomplete)
        items = (parameter or command).shell_complete(context, incomplete)
    prefix = typed.incomplete.removesuffix(incomplete)  # "--loss="
    found = [Completion(f"{prefix}{item.value}", item.help or "") for item in items]
    # A name with a control character could not be typed; escaped, it would be another name.
    return [row for row in found if escape(row.value) == row.value]


def _parameter(
    command: Any, context: Any, words: Sequence[str], incomplete: str
) -> tuple[Any, str]:
    """Return the option or argument whose value is incomplete, None for a name, and the value."""
    parameters = command.get_params(context)
    options = [item for item in parameters if item.param_type_name == "option"]
    arguments = [item for item in parameters if item.param_type_name == "argument"]
    name, equals, value = incomplete.partition("=")
    for option in options:
        if option.is_flag:
            continue
        if equals and name in option.opts:
            return option, value
        if words and words[-1] in option.opts:
            return option, incomplete
    if incomplete.startswith("-"):
        return None, incomplete
    free = (item for item in arguments if not _is_typed(context, item))
    return next(free, None), incomplete


def _is_typed(context: Any, parameter: Any) -> bool:
    source = context.get_parameter_source(parameter.name)
    return source is not None and source.name == "COMMANDLINE"


def split(text: str) -> list[str]:
    """Split words as a shell does; a quotation may be incomplete."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=False)
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:  # the quotation that is still open
        words.append(lexer.token)
    return words


def bash_typed(environment: Mapping[str, str]) -> TypedLine:
    """Return what was typed in bash, which passes `rule:x` and `--loss=x` as three words."""
    cursor = int(environment.get("COMP_CWORD", "0"))
    words = split(environment.get("COMP_WORDS", ""))
    words = [*words, *[""] * (cursor + 1 - len(words))][: cursor + 1]
    joined: list[str] = []
    for index, word in enumerate(words):
        follows_break = index > 0 and _BREAKS.fullmatch(words[index - 1])
        if joined and (_BREAKS.fullmatch(word) or follows_break):
            joined[-1] += word
        else:
            joined.append(word)
    incomplete = joined[-1] if len(joined) > 1 else ""
    end = max(incomplete.rfind(":"), incomplete.rfind("=")) + 1
    return TypedLine(joined[1:-1], incomplete, incomplete[:end])


def line_typed(environment: Mapping[str, str]) -> TypedLine:
    """Return what was typed in zsh or fish, which pass the line up to the cursor."""
    line = environment.get("_TYPER_COMPLETE_ARGS", "")
    words = split(line)[1:]
    if not words or line[-1:].isspace():
        return TypedLine(words, "")
    return TypedLine(words[:-1], words[-1])


def _for_bash(
    typed: TypedLine, rows: Sequence[Completion], _environment: Mapping[str, str]
) -> tuple[str, int]:
    return "\n".join(bash_word(row.value.removeprefix(typed.fixed)) for row in rows), 0


def _for_zsh(
    _typed: TypedLine, rows: Sequence[Completion], _environment: Mapping[str, str]
) -> tuple[str, int]:
    """Return code that the shell function evaluates; without candidates it completes files."""
    lines = []
    for row in rows:
        value, text = zsh_word(row.value), zsh_word(row.help)
        lines.append(f'"{value}":"{text}"' if text else f'"{value}"')
    return ("_arguments '*: :((" + "\n".join(lines) + "))'" if lines else "_files"), 0


def _for_fish(
    _typed: TypedLine, rows: Sequence[Completion], environment: Mapping[str, str]
) -> tuple[str, int]:
    """Return the candidates, or only the status that tells whether there are any."""
    if environment.get("_TYPER_COMPLETE_FISH_ACTION") == "is-args":
        return "", 0 if rows else 1
    return "\n".join(f"{row.value}\t{escape(row.help)}".rstrip() for row in rows), 0


# For each shell, what was typed in it, and what its script expects: a text and the exit status.
_SHELLS = {
    "bash": (bash_typed, _for_bash),
    "zsh": (line_typed, _for_zsh),
    "fish": (line_typed, _for_fish),
}
