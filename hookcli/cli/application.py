"""typer's application: the commands that are needed, and the options of the root."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any

import typer

from hookcli._version import __version__
from hookcli.cli.commands import GROUPS
from hookcli.cli.flags.signatures import flattened
from hookcli.cli.help.layout import ALL, GroupedCommands, SectionedCommand, examples_text, grouped
from hookcli.cli.help.next_command import typed
from hookcli.cli.help.short_help import HELP_ALL, SHORT
from hookcli.console import Console

EXAMPLES = (
    ("every layer of a model: shapes, parameters, mult-adds", "hookcli inspect model.py"),
    ("one class of a file, with a batch", "hookcli inspect model.py:Net -i 2x3x64x64"),
    ("rules for CI, with the findings as tests", "hookcli check model.py -f junit=hookcli.xml"),
    ("what a rule computes", "hookcli explain rule:finite"),
)


def application(shown: Iterable[str], called: Container[str]) -> typer.Typer:
    """Return the application with the commands in `shown`; those in `called` can be run.

    The other commands only have a line in the help, because making their options takes time.
    """
    app = typer.Typer(
        name="hookcli",
        cls=GroupedCommands,
        epilog=examples_text(EXAMPLES),
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=False,  # typer's own two options cannot name a shell
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback()(_root)
    groups = grouped(GROUPS)
    for name in shown:
        module = import_module(f"hookcli.cli.commands.{name}")
        command = _command(module, name)
        app.command(
            name,
            cls=getattr(module, "COMMAND_CLASS", SectionedCommand),
            epilog=examples_text(module.EXAMPLES),
            rich_help_panel=groups[name],
        )(with_full_help(name, flattened(command)) if name in called else _listed(command))
    return app


def with_full_help(name: str, command: Callable[..., int]) -> Callable[..., int]:
    """Return a flattened command with the option --help-all, which prints its whole help page."""

    def call(help_all: bool = False, **values: Any) -> int:
        return command(**values)

    option = typer.Option(
        "--help-all", callback=_help_all, is_eager=True, help=HELP_ALL, hidden=name not in SHORT
    )
    added = inspect.Parameter(
        "help_all",
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[bool, option],
        default=False,
    )
    signature = inspect.signature(command)
    parameters = [*signature.parameters.values(), added]
    call.__doc__ = command.__doc__
    call.__annotations__ = {item.name: item.annotation for item in parameters}
    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call


def _help_all(context: typer.Context, given: bool) -> None:
    if given and not context.resilient_parsing:
        context.meta[ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


def _listed(command: Callable[..., int]) -> Callable[[], None]:
    def call() -> None:
        raise NotImplementedError("a command that the command line does not name")

    call.__doc__ = command.__doc__
    return call


def _command(module: ModuleType, name: str) -> Callable[..., int]:
    """Return the function of a command's module; it ends in _ if the name is that of a builtin."""
    command: Callable[..., int] = getattr(module, name if hasattr(module, name) else f"{name}_")
    return command


def _version(given: bool) -> None:
    if given:
        Console().out(f"hookcli {__version__}\n")
        raise typer.Exit


def _completion(context: typer.Context, param: typer.CallbackParam, given: bool) -> None:
    if given and not context.resilient_parsing:
        from hookcli.cli.completion.scripts import install, show

        raise typer.Exit((install if param.name == "install_completion" else show)(typed()))


def _option(name: str, text: str, callback: Callable[..., None]) -> Any:
    return typer.Option(name, callback=callback, is_eager=True, help=text)


_SHELLS = "for this shell, or for the one named after it: bash, zsh, fish."


def _root(
    version: Annotated[bool, _option("--version", "Print the version.", _version)] = False,
    install_completion: Annotated[
        bool, _option("--install-completion", f"Install completion {_SHELLS}", _completion)
    ] = False,
    show_completion: Annotated[
        bool,
        _option("--show-completion", f"Print the completion script {_SHELLS}", _completion),
    ] = False,
) -> None:
    """Run a PyTorch model and show the shapes, gradients and hooks of every layer.

    The report is written to stdout. Notes, errors and what the model prints go to stderr.
    """
