"""The values of flags, checked: each mistake is said with the flag as it was typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookcli.cli.ci import source_root
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.formats.names import DEFAULT_COLUMNS, columns_of
from hookcli.spec.request import DEVICES, LOSS_HINT, LOSSES, MOST, is_device
from hookcli.text import nearest, try_instead

if TYPE_CHECKING:
    from hookcli.cli.flags.options import ViewFlags
    from hookcli.formats.view import View


def parse_columns(text: str | None, command: str | None) -> tuple[str, ...]:
    """The columns asked for; with command None those of any.

    Raises
    ------
    RequestError : one is unknown; a near name is suggested.

    """
    if text is None:
        return DEFAULT_COLUMNS
    commands = ("inspect", "grads", "trace") if command is None else (command,)
    known = {
        name: title for command_name in commands for name, title in columns_of(command_name).items()
    }
    return _names(text, known, flag="--columns", noun="column", nouns="columns")


def parse_kinds(text: str | None) -> tuple[str, ...] | None:
    """The kinds of hooks asked for: ("all",) is every one.

    Raises
    ------
    RequestError : one is unknown; a near name is suggested.

    """
    if text is None:
        return None
    if text.strip() == "all":
        return ("all",)
    from hookcli.catalogue.kinds import CATALOGUE

    return _names(text, CATALOGUE, flag="--kinds", noun="kind of hook", nouns="kinds of hooks")


def _names(
    text: str, known: Mapping[str, Any], *, flag: str, noun: str, nouns: str
) -> tuple[str, ...]:
    """Names between commas, each once."""
    listed = f"{nouns} are {', '.join(known)}"
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in known:
            guess = nearest(name, known)
            raise RequestError(
                f"there is no {noun} '{name}'",
                place=f"{flag} {text}",
                hint=try_instead(guess, listed),
            )
    if not names:
        raise RequestError(f"no {noun} is named", place=flag, hint=listed)
    return names


def parse_device(text: str) -> str:
    """A device of torch's: "cpu", "cuda:1".

    Raises
    ------
    RequestError : there is no such device.

    """
    if not is_device(text):
        kind = text.partition(":")[0]
        guess = "cuda" if kind == "gpu" else nearest(kind, DEVICES)
        raise RequestError(
            f"'{text}' is no device",
            place=f"--device {text}",
            hint=try_instead(guess, f"devices are {', '.join(DEVICES)}, cuda:1"),
        )
    return text


def parse_loss(text: str) -> str:
    """What backward starts from: a word, output:PATH, or a function, which the run finds.

    Raises
    ------
    RequestError : it is none of them.

    """
    if text in LOSSES or ":" in text or text.startswith("torch.ops."):
        return text
    guess = nearest(text, LOSSES)
    raise RequestError(
        f"'{text}' is no loss",
        place=f"--loss {text}",
        hint=try_instead(guess, LOSS_HINT),
    )


def parse_dtype(text: str) -> str:
    """A floating dtype by torch's own name.

    Raises
    ------
    RequestError : there is no such dtype, or a model has none of it.

    """
    from hookcli.spec.inputs import FLOATING, canonical_dtype

    dtype = canonical_dtype(text)
    if dtype not in FLOATING:
        guess = nearest(text, FLOATING)
        raise RequestError(
            f"'{text}' is no floating dtype",
            place=f"--dtype {text}",
            hint=try_instead(guess, "dtypes are float32, float16, bfloat16"),
        )
    return dtype


def batch_size(value: int) -> int:
    """The samples of --batch-size.

    Raises
    ------
    RequestError : it is more than torch counts.
    """
    return _counted(value, "--batch-size")


def steps(value: int) -> int:
    """The number of --steps.

    Raises
    ------
    RequestError : it is more than torch counts.
    """
    return _counted(value, "--steps")


def _counted(value: int, flag: str) -> int:
    from hookcli.spec.inputs import LARGEST

    if value > LARGEST:
        raise RequestError(
            f"{flag} must be at most {LARGEST}", place=f"{flag} {value}", hint=f"write {flag} 2"
        )
    return value


def seconds(value: float) -> float:
    """The seconds of --timeout.

    Raises
    ------
    RequestError : they are not above 0, or beyond all measure.

    """
    return _positive(value, "--timeout")


def gigabytes(value: float) -> int:
    """The gigabytes of --max-memory, in bytes.

    Raises
    ------
    RequestError : they are not above 0, or beyond all measure.

    """
    return int(_positive(value, "--max-memory") * 1e9)


def _positive(value: float, flag: str) -> float:
    if not 0 < value <= MOST:
        raise RequestError(
            f"{flag} must be above 0 and at most {MOST:g}",
            place=f"{flag} {value:g}",
            hint=f"write {flag} 60",
        )
    return value


def view_of(
    command: str | None, flags: ViewFlags, console: Console, *, kinds: str | None = None
) -> View:
    """How to show a report.

    `command` is the one that runs, None where a saved report is shown: there `kinds` picks the
    events to show.

    Raises
    ------
    RequestError : a column or a kind of hook is unknown.

    """
    from hookcli.formats.view import View

    picked = parse_kinds(kinds)
    root, start = source_root()
    return View(
        width=console.width(),
        unicode=console.unicode(),
        color=console.colored(),
        depth=flags.depth,
        only=flags.only,
        columns=parse_columns(flags.columns, command),
        sort=flags.sort,
        phase=flags.phase,
        kinds=None if picked == ("all",) else picked,
        root=root,
        start=start,
    )
