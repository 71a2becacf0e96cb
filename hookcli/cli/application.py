"""typer's application: the commands that it is asked for, and --version."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from importlib import import_module
from typing import Annotated

import typer

from hookcli._version import __version__
from hookcli.cli.flags.signatures import flattened
from hookcli.console import Console


def application(shown: Iterable[str], called: Container[str]) -> typer.Typer:
    """The application with the commands that are shown, of which those in `called` can be run.

    The others have a line in the help and no options: making those takes a while.
    """
    app = typer.Typer(
        name="hookcli",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_root)
    for name in shown:
        command = _command(name)
        app.command(name)(flattened(command) if name in called else _listed(command))
    return app


def _listed(command: Callable[..., int]) -> Callable[[], None]:
    def call() -> None:
        raise NotImplementedError("a command that no argument names")

    call.__doc__ = command.__doc__
    return call


def _command(name: str) -> Callable[..., int]:
    """The function of a command's module: of its name, with a _ after that of a builtin."""
    module = import_module(f"hookcli.cli.commands.{name}")
    command: Callable[..., int] = getattr(module, name if hasattr(module, name) else f"{name}_")
    return command


def _version(wanted: bool) -> None:
    if wanted:
        Console().out(f"hookcli {__version__}\n")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Inspect PyTorch models: every layer's shapes, gradients and hooks, as they really happened.

    stdout carries the report and nothing else; what a model prints goes to stderr.
    """
