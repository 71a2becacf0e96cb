"""The flags that several commands have, once."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Annotated, Literal

import typer

from hookcli.console import ColorOption, Console, stdout_is_closed
from hookcli.errors import BugError, HookcliError, InterruptedRun, RequestError, Status
from hookcli.formats.names import COLUMNS, DEFAULT_COLUMNS

_VIEW = "What to show"
_OUT = "Where to"

Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Leave notes out.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Add tracebacks to errors.")]
Color = Annotated[
    ColorOption, typer.Option("--color", help="Colour: auto is on a terminal without NO_COLOR.")
]
Depth = Annotated[
    int | None, typer.Option("--depth", min=0, metavar="N", help="Show calls down to this depth.")
]
Only = Annotated[
    str | None,
    typer.Option("--only", metavar="GLOB", help="Show only modules whose name matches."),
]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B", help=f"Columns: {', '.join(COLUMNS)}."),
]
Sort = Annotated[
    Literal["order", "params", "own", "macs", "flops"] | None,
    typer.Option("--sort", help="Show rows by themselves, the largest first."),
]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "-f",
        "--format",
        metavar="FORMAT[=FILE]",
        help="table, tree, json or markdown; may be repeated, with files.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write the single format to this file."),
]


def near(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is likely meant to be."""
    found = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return found[0] if found else None


def parse_columns(text: str | None) -> tuple[str, ...]:
    """The columns asked for.

    Raises
    ------
    RequestError : one is unknown; a near name is suggested.

    """
    if text is None:
        return DEFAULT_COLUMNS
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in names:
        if name not in COLUMNS:
            guess = near(name, COLUMNS)
            raise RequestError(
                f"there is no column '{name}'",
                place=f"--columns {text}",
                hint=f"did you mean {guess}?" if guess else f"columns are {', '.join(COLUMNS)}",
            )
    if not names:
        raise RequestError(
            "no column is named", place="--columns", hint=f"columns are {', '.join(COLUMNS)}"
        )
    return names


def watch_stdout() -> None:
    """End the command once nobody reads its stdout.

    Raises
    ------
    InterruptedRun : nobody does.

    """
    if stdout_is_closed():
        raise InterruptedRun(Status.CLOSED_STDOUT)


def reporting(console: Console, command: Callable[[], int]) -> int:
    """The status of a command; its errors said in three lines."""
    try:
        return command()
    except HookcliError as error:
        console.error(error)
        return error.status
    except BrokenPipeError:  # typer would make it status 1
        raise InterruptedRun(Status.CLOSED_STDOUT) from None
    except OSError as error:
        if error.filename is not None:
            raise
        refused = RequestError(
            f"stdout cannot be written: {error.strerror}",
            place="stdout",
            hint="is the disk full? write elsewhere with -o FILE",
        )
        console.error(refused)
        return refused.status
    except Exception as error:  # noqa: BLE001  # the last resort: it is our bug
        import traceback

        last = traceback.extract_tb(error.__traceback__)[-1]
        bug = BugError(
            f"hookcli failed: {type(error).__name__}: {error}",
            place=f"{last.filename}:{last.lineno}",
            hint="this is a bug in hookcli: please report it with the output of -v",
            details="".join(traceback.format_exception(error)),
        )
        console.error(bug)
        return bug.status
