"""The commands together; usage errors in three lines, as all others."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from hookcli._version import __version__
from hookcli.cli.commands import (
    check,
    diff,
    explain,
    grads,
    init,
    inspect,
    list as listing,
    render,
    schema,
    snapshot,
    trace,
)
from hookcli.cli.errors import usage_error
from hookcli.console import Console, stdout_is_closed
from hookcli.errors import RequestError, Status

app = typer.Typer(
    name="hookcli",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        Console().out(f"hookcli {__version__}\n")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Inspect PyTorch models: every layer's shapes, gradients and hooks, as they really happened.

    stdout carries the report and nothing else; what a model prints goes to stderr.
    """


app.command("inspect")(inspect.inspect)
app.command("grads")(grads.grads)
app.command("trace")(trace.trace)
app.command("check")(check.check)
app.command("diff")(diff.diff)
app.command("init")(init.init)
app.command("snapshot")(snapshot.snapshot)
app.command("list")(listing.list_)
app.command("explain")(explain.explain)
app.command("render")(render.render)
app.command("schema")(schema.schema)


def run(arguments: list[str]) -> int:
    """The exit status of a command line."""
    if any("\0" in one for one in arguments):  # no system passes it on; one that calls us may
        refused = RequestError(
            "an argument holds a NUL character",
            place=shlex.join(["hookcli", *arguments]),
            hint="take the character out",
        )
        Console().error(refused)
        return refused.status
    try:
        status = app(arguments or ["--help"], prog_name="hookcli", standalone_mode=False)
    except SystemExit as leaving:  # typer's way with a closed stdout, for help
        return Status.CLOSED_STDOUT if stdout_is_closed() else int(leaving.code or 0)
    except Exception as error:
        # typer's usage errors: it keeps their class in a private module that has moved before
        if not hasattr(error, "format_message"):
            raise
        commands = [command.name or "" for command in app.registered_commands]
        usage = usage_error(error, arguments, commands)
        Console().error(usage)
        return usage.status
    return int(status or 0)
