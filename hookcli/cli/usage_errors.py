"""Errors of command lines that typer refused, in hookcli's words and with a command to run."""

from __future__ import annotations

import itertools
import re
from typing import Any

from hookcli.cli.commands import COMMANDS
from hookcli.cli.help.next_command import command_line, run_hint
from hookcli.errors import RequestError
from hookcli.sentences import missing
from hookcli.text import join_names, nearest, try_instead

# The messages of typer, and of pydantic in them, that are worded as hookcli's.
_OTHERS = re.compile(r"\.? (?:\(Possible options: |\(?Did you mean:? )([^)?]+)[)?]+")
_CHOICE = re.compile(r"Invalid value for (.+): .*'([^']*)' is not one of ('.*')")
_MISSING_CHOICE = re.compile(r"(Missing argument '.*')\. Choose from: (.*)")
_NUMBER = re.compile(r"Invalid value for ('.+'): Input should be ([^,]*)")
_WORDS = (
    (re.compile(r"No such option: (\S+)"), r"unknown option '\1'"),
    (re.compile(r"Got unexpected extra argument\(s\) \((.*)\)"), r"unexpected argument '\1'"),
    (re.compile(r"(Option '.*') requires an argument"), r"\1 requires a value"),
    (re.compile(r"(Option '.*') does not take a value"), r"\1 does not accept a value"),
    (re.compile(r"greater than or equal to"), "at least"),
    (re.compile(r"less than or equal to"), "at most"),
    (re.compile(r"a valid (integer|number)"), r"a \1"),
    (re.compile(r"\ba integer"), "an integer"),
)


_AFTER_SCRIPT = "write the options of the script after its name"
_UNKNOWN = re.compile(r"unknown option '(\S+)'")
_RULES = "list rules in a configuration, as in `checks: [{rule: no_hooks}]`, and pass it with `-c`"
# Options of similar tools, and where hookcli has what they do.
_OTHER_WAY = dict.fromkeys(("--rule", "--rules", "--checks"), _RULES)


def usage_error(error: Any, arguments: list[str]) -> RequestError:
    """Return the error of a command line that typer refused."""
    message = " ".join(str(error.format_message()).split())
    message, hint = _worded(message, arguments)
    command = [argument for argument in arguments[:1] if argument in COMMANDS]
    unknown = _UNKNOWN.match(message)
    if command and unknown is not None:
        hint = _OTHER_WAY.get(unknown[1]) or _of_others(unknown[1], command[0]) or hint
    if command == ["run"] and unknown is not None:
        own = {name.lstrip("-"): name for name in _options("run")}
        guess = nearest(unknown[1].lstrip("-"), own, cutoff=0.7)
        hint = try_instead(guess and own[guess], _AFTER_SCRIPT)
    if not command and hint is None and (option := getattr(error, "option_name", None)):
        hint = _with_inspect(option, arguments)
        if hint is not None:
            message = missing("command")
    return RequestError(
        message[:1].lower() + message[1:],
        place=command_line(arguments),
        hint=hint or run_hint([command_line([*command, "--help"])]),
    )


def _worded(message: str, arguments: list[str]) -> tuple[str, str | None]:
    """Return typer's message in hookcli's words, and the hint if the message leads to one."""
    hint = None
    if (choice := _CHOICE.fullmatch(message.rstrip("."))) is not None:
        name, value, listed = choice.groups()
        names = re.findall(r"'([^']*)'", listed)
        hint = try_instead(nearest(value, names), f"choose from {', '.join(names)}")
        return f"{name} must be one of {', '.join(names)}, got '{value}'", hint
    if (missing := _MISSING_CHOICE.fullmatch(message)) is not None:
        commands = [command_line([*arguments, name]) for name in missing[2].split(", ")]
        return missing[1], run_hint(commands)
    if (others := _OTHERS.search(message)) is not None:
        named = [name.strip("' ") for name in others[1].split(",")]
        word = re.split(r"[ :]+", message[: others.start()])[-1].strip("'.")
        hint = try_instead(nearest(word, named) or named[0])
        message = _OTHERS.sub("", message)
    if (number := _NUMBER.match(message)) is not None:
        message = f"{number[1]} must be {number[2]}{_given(number[1], arguments)}"
    for pattern, words in _WORDS:
        message = pattern.sub(words, message)
    return message.rstrip("."), hint


def _given(names: str, arguments: list[str]) -> str:
    """Return ", got '-1'" for the last value of an option that was typed: `'-c' / '--config'`."""
    options = re.findall(r"'([^']*)'", names)
    values = [value for flag, value in itertools.pairwise(arguments) if flag in options]
    values += [flag.partition("=")[2] for flag in arguments if flag.partition("=")[0] in options]
    values = [value for value in values if value]
    return f", got '{values[-1]}'" if values else ""


_OF_TRAININGS = ("run", "follow", "ask")  # those of a model are more likely


def _with_inspect(option: str, arguments: list[str]) -> str | None:
    """Return the hint to add a command if the option is one of a command, and not of the root."""
    from typer.main import get_command

    from hookcli.cli.application import application

    root: Any = get_command(application(COMMANDS, called=COMMANDS))
    commands = sorted(root.commands.items(), key=lambda item: item[0] in _OF_TRAININGS)
    for name, command in commands:
        if any(option in parameter.opts for parameter in command.params):
            return run_hint([command_line([name, *arguments])])
    return None


def _options(command: str) -> list[str]:
    from typer.main import get_command

    from hookcli.cli.application import application

    root: Any = get_command(application([command], called=[command]))
    return [name for parameter in root.commands[command].params for name in parameter.opts]


def _of_others(option: str, command: str) -> str | None:
    """Return the hint for an option that this command lacks and others have."""
    from typer.main import get_command

    from hookcli.cli.application import application

    root: Any = get_command(application(COMMANDS, called=COMMANDS))
    owners = [
        name
        for name, other in root.commands.items()
        if name != command and any(option in parameter.opts for parameter in other.params)
    ]
    if not owners:
        return None
    return f"omit it with {command}: {option} is an option of {join_names(owners, 4)}"
