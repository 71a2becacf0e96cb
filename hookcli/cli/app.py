"""Running a command line. Usage errors are printed as three lines, like all others.

Importing this imports no command: a worker may be started first.
"""

from __future__ import annotations

import os

from hookcli.cli.commands import COMMANDS, RUNNING

_HELP = {"-h", "--help", "--help-all"}
_WATCH = "--watch"
_COMPLETE = "_HOOKCLI_COMPLETE"  # set by the shell functions that typer writes


def will_run(arguments: list[str]) -> bool:
    """Return whether the command line is likely to run a model; its flags are not read yet."""
    if len(arguments) < 2 or not _HELP.isdisjoint(arguments):
        return False
    if _WATCH in arguments:  # each run starts its own
        return False
    if arguments[0] == "diff" and any(_is_report(argument) for argument in arguments[1:]):
        return False
    return arguments[0] in RUNNING and _COMPLETE not in os.environ


def _is_report(argument: str) -> bool:
    return argument.endswith(".json") and not argument.startswith("-") and "=" not in argument


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit status."""
    from hookcli.console import Console
    from hookcli.errors import RequestError, Status

    if _COMPLETE in os.environ:
        from hookcli.cli.application import application
        from hookcli.cli.completion.answer import answer

        return answer(os.environ[_COMPLETE], os.environ, application)
    if not arguments:
        from hookcli.cli.help.welcome import WELCOME

        Console().out(WELCOME)
        return Status.FINE
    from hookcli.cli.help.next_command import color_option, remember, unknown_command

    remember(arguments)
    try:
        if any("\0" in argument for argument in arguments):  # possible if Python calls this
            import shlex

            raise RequestError(
                "an argument contains a NUL character",
                place=shlex.join(["hookcli", *arguments]),
                hint="remove the character",
            )
        if arguments[0] not in COMMANDS and not arguments[0].startswith("-"):
            raise unknown_command(arguments, COMMANDS)
        return _run(arguments)
    except RequestError as error:
        Console(color=color_option(arguments)).error(error)
        return error.status


def _run(arguments: list[str]) -> int:
    """Run a command through typer.

    Raises
    ------
    RequestError : typer refused the command line, or stdout cannot be written.
    """
    from hookcli.cli.application import application
    from hookcli.cli.usage_errors import usage_error
    from hookcli.console import stdout_is_closed, stdout_is_missing, unwritable_stdout
    from hookcli.errors import Status

    shown = arguments[:1] if arguments[0] in COMMANDS else COMMANDS
    app = application(shown, called=arguments)
    try:
        status = app(arguments, prog_name="hookcli", standalone_mode=False)
    except SystemExit as leaving:  # how typer ends if stdout is closed while it prints help
        return Status.CLOSED_STDOUT if stdout_is_closed() else int(leaving.code or 0)
    except BrokenPipeError:
        raise
    except OSError as error:  # typer prints help itself; commands report their errors
        raise unwritable_stdout(error) from None
    except Exception as error:
        # A usage error of typer, whose class is in a private module that has moved before.
        if not hasattr(error, "format_message"):
            raise
        raise usage_error(error, arguments) from None
    if stdout_is_missing() and not _HELP.isdisjoint(arguments):  # typer printed nothing
        return Status.CLOSED_STDOUT
    return int(status or 0)
