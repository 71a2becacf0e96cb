"""The shells' completion scripts, which typer writes: printed, or installed for the user."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from hookcli.console import Console
from hookcli.errors import RequestError, Status
from hookcli.sentences import unknown
from hookcli.text import join_or

SHELLS = ("bash", "zsh", "fish")
_PROGRAM, _VARIABLE = "hookcli", "_HOOKCLI_COMPLETE"


def script(shell: str) -> str:
    """Return the script that a shell sources to complete hookcli's command lines."""
    from typer import completion

    text: str = completion.get_completion_script(  # type: ignore[attr-defined]  # re-exported
        prog_name=_PROGRAM, complete_var=_VARIABLE, shell=shell
    )
    return text + "\n"


def show(arguments: Sequence[str]) -> int:
    """Print the script of the shell that the command line names, or of the current one."""

    def command(shell: str) -> None:
        Console().out(script(shell))

    return _with_shell(arguments, "--show-completion", command)


def install(arguments: Sequence[str]) -> int:
    """Install the script for the shell that the command line names, or for the current one."""

    def command(shell: str) -> None:
        from typer import completion

        install_script = completion.install  # type: ignore[attr-defined]  # re-exported
        _, path = install_script(shell=shell, prog_name=_PROGRAM, complete_var=_VARIABLE)
        Console().out(f"installed {path}\nStart a new {shell} to use it.\n")

    return _with_shell(arguments, "--install-completion", command)


def _with_shell(arguments: Sequence[str], flag: str, command: Callable[[str], None]) -> int:
    from hookcli.cli.errors import reporting

    def run() -> int:
        command(_shell(arguments, flag))
        return Status.FINE

    return reporting(Console(), run)


def _shell(arguments: Sequence[str], flag: str) -> str:
    """Return the shell after the flag, else the one that runs the command, else that of SHELL.

    Raises
    ------
    RequestError : the shell has no completion, or cannot be detected.
    """
    named = next(iter(arguments[arguments.index(flag) + 1 :]), None)
    shell = named or _current_shell()
    if shell in SHELLS:
        return shell
    raise RequestError(
        unknown("shell", shell) if shell else "the shell cannot be detected",
        place=flag if named is None else f"{flag} {named}",
        hint="run " + join_or([f"`hookcli {flag} {name}`" for name in SHELLS]),
    )


def _current_shell() -> str | None:
    import shellingham

    try:
        name: str = shellingham.detect_shell()[0]
    except (shellingham.ShellDetectionFailure, OSError):
        return Path(os.environ.get("SHELL", "")).name or None
    return name
