"""The commands, a line each, and running one: usage errors in three lines, as all others.

Importing this imports none of them: a worker may be started before they are.
"""

from __future__ import annotations

# In the order of --help; each is a file of cli/commands. True: it is likely to run a model, so that
# a worker is started before its flags are read.
COMMANDS = {
    "inspect": True,
    "grads": True,
    "trace": True,
    "check": True,
    "diff": True,
    "init": False,
    "snapshot": False,
    "list": False,
    "explain": False,
    "render": False,
    "schema": False,
}
_HELP = {"-h", "--help"}


def will_run(arguments: list[str]) -> bool:
    """Whether a model is likely to be run, as far as can be told before the flags are read."""
    if len(arguments) < 2 or not _HELP.isdisjoint(arguments):
        return False
    return COMMANDS.get(arguments[0], False)


def run(arguments: list[str]) -> int:
    """The exit status of a command line."""
    import shlex

    from hookcli.cli.application import application
    from hookcli.cli.errors import usage_error
    from hookcli.console import Console, stdout_is_closed
    from hookcli.errors import RequestError, Status

    if any("\0" in argument for argument in arguments):  # no system passes it on, but a caller may
        refused = RequestError(
            "an argument holds a NUL character",
            place=shlex.join(["hookcli", *arguments]),
            hint="take the character out",
        )
        Console().error(refused)
        return refused.status
    shown = arguments[:1] if arguments and arguments[0] in COMMANDS else COMMANDS
    app = application(shown, called=arguments)
    try:
        status = app(arguments or ["--help"], prog_name="hookcli", standalone_mode=False)
    except SystemExit as leaving:  # typer's way with a closed stdout, for help
        return Status.CLOSED_STDOUT if stdout_is_closed() else int(leaving.code or 0)
    except Exception as error:
        # typer's usage errors: it keeps their class in a private module that has moved before
        if not hasattr(error, "format_message"):
            raise
        usage = usage_error(error, arguments, COMMANDS)
        Console().error(usage)
        return usage.status
    return int(status or 0)
