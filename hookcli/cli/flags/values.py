"""Checks of the values of flags. The place of each error is the flag as it was typed."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from hookcli.cli.ci import source_root
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.formats.names import ALIASES, DEFAULT_COLUMNS, SORTS, columns_of, common, sorts_of
from hookcli.sentences import not_floating_point, unknown
from hookcli.spec.losses import LOSS_HINT, OWN_LOSSES, nearest_loss, parse_named_loss
from hookcli.spec.request import DEVICES, MOST, Interpreter, is_device
from hookcli.spec.what_if import WhatIf, parse_what_if
from hookcli.text import listed_hint, nearest, try_instead

if TYPE_CHECKING:
    from hookcli.cli.flags.options import ViewFlags
    from hookcli.formats.view import View
    from hookcli.spec.inputs import InputSpec


def parse_columns(text: str | None, command: str | None) -> tuple[str, ...]:
    """Return the columns of --columns; with command None a column of any command is valid.

    Raises
    ------
    RequestError : a column is unknown; the hint names a similar one.

    """
    if text is None:
        return DEFAULT_COLUMNS
    text = ",".join(ALIASES.get(name.strip(), name) for name in text.split(","))
    return _names(text, known_columns(command), flag="--columns", noun="column")


def parse_sort(text: str | None, command: str | None) -> str | None:
    """Return the value of --sort: a name, with a minus before it for the reverse order.

    Raises
    ------
    RequestError : the rows cannot be sorted by this name; the hint lists those that can be used.

    """
    if text is None:
        return None
    minus = "-" if text.startswith("-") else ""
    name = text.removeprefix("-").strip()
    name = ALIASES.get(name, name)
    known = SORTS if command is None else sorts_of(command)
    if name not in known:
        raise RequestError(
            f"rows cannot be sorted by '{name}'",
            place=f"--sort {text}",
            hint=listed_hint(name, known, common(known)),
        )
    return minus + name


def known_columns(command: str | None) -> tuple[str, ...]:
    """Return the columns of a command's reports; with command None those of all commands."""
    commands = ("inspect", "grads", "trace") if command is None else (command,)
    return tuple(dict.fromkeys(name for each in commands for name in columns_of(each)))


def parse_kinds(text: str | None) -> tuple[str, ...] | None:
    """Return the kinds of --kinds; ("all",) stands for every kind.

    Raises
    ------
    RequestError : a kind is unknown; the hint names a similar one.

    """
    if text is None:
        return None
    if text.strip() == "all":
        return ("all",)
    from hookcli.catalogue.kinds import CATALOGUE

    return _names(text, CATALOGUE, flag="--kinds", noun="kind")


def _names(text: str, known: Collection[str], *, flag: str, noun: str) -> tuple[str, ...]:
    """Return the names between commas, without duplicates."""
    listed = f"choose from {', '.join(common(known) if flag == '--columns' else known)}"
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in known:
            raise RequestError(
                unknown(noun, name),
                place=f"{flag} {text}",
                hint=listed_hint(name, known, common(known))
                if flag == "--columns"
                else try_instead(nearest(name, known), listed),
            )
    if not names:
        raise RequestError(f"{flag} requires a {noun}", place=flag, hint=listed)
    return names


def what_ifs(texts: tuple[str, ...]) -> tuple[WhatIf, ...] | None:
    """Return the training steps of --what-if; None if the flag was not given.

    Raises
    ------
    RequestError : a value is wrong.
    """
    made = []
    for text in texts:
        try:
            made.append(parse_what_if(text))
        except ValueError as error:
            message, hint = error.args
            raise RequestError(message, place=f"--what-if {text}", hint=hint) from None
    return tuple(made) or None


def parse_device(text: str) -> str:
    """Return the name of a device as torch has it: "cpu", "cuda:1".

    Raises
    ------
    RequestError : the device is unknown.

    """
    if not is_device(text):
        kind = text.partition(":")[0]
        guess = "cuda" if kind == "gpu" else nearest(kind, DEVICES)
        raise RequestError(
            unknown("device", text),
            place=f"--device {text}",
            hint=try_instead(guess, f"choose from {', '.join(DEVICES)}, cuda:1"),
        )
    return text


def parse_loss(text: str) -> str:
    """Return the loss: a name, output:PATH, or a function, which is imported in the run.

    Raises
    ------
    RequestError : the loss is none of these, or its options are wrong.

    """
    place = f"--loss {text}"
    try:
        known = text in OWN_LOSSES or parse_named_loss(text) is not None
    except ValueError as error:
        message, hint = error.args
        raise RequestError(message, place=place, hint=hint) from None
    if known or ":" in text or text.startswith("torch.ops."):
        return text
    raise RequestError(
        unknown("loss", text), place=place, hint=try_instead(nearest_loss(text), LOSS_HINT)
    )


def targets(texts: tuple[str, ...]) -> tuple[InputSpec, ...] | None:
    """Return the parts of the target of --target; None if the flag was not given.

    Raises
    ------
    RequestError : a part is malformed, or a name is given twice.
    """
    from hookcli.spec.inputs import TARGET, parse_inputs

    return parse_inputs(texts, TARGET) or None


def parse_dtype(text: str) -> str:
    """Return a floating-point dtype by torch's own name.

    Raises
    ------
    RequestError : the dtype is unknown, or is not a floating-point dtype.

    """
    from hookcli.spec.inputs import FLOATING, canonical_dtype

    dtype = canonical_dtype(text)
    if dtype not in FLOATING:
        guess = nearest(text, FLOATING)
        raise RequestError(
            not_floating_point(text),
            place=f"--dtype {text}",
            hint=try_instead(guess, f"choose from {', '.join(FLOATING)}"),
        )
    return dtype


def parse_python(text: str) -> Interpreter:
    """Return the interpreter of --python. It is looked for when all else is known.

    Raises
    ------
    RequestError : the value is empty.
    """
    if not text:
        raise RequestError(
            "--python requires a path", place="--python", hint="pass `--python .venv/bin/python`"
        )
    return Interpreter(text, "--python", f"--python {text}")


def batch_size(value: int) -> int:
    """Return the number of samples of --batch-size.

    Raises
    ------
    RequestError : the number is larger than the largest int64.
    """
    return _counted(value, "--batch-size")


def steps(value: int) -> int:
    """Return the number of steps of --steps.

    Raises
    ------
    RequestError : the number is larger than the largest int64.
    """
    return _counted(value, "--steps")


def seed(value: int) -> int:
    """Return the seed of --seed.

    Raises
    ------
    RequestError : the number is larger than the largest int64.
    """
    return _counted(value, "--seed")


def _counted(value: int, flag: str) -> int:
    from hookcli.spec.inputs import LARGEST

    if value > LARGEST:
        raise RequestError(
            f"{flag} must be at most {LARGEST}, got {value}",
            place=f"{flag} {value}",
            hint=f"pass a smaller number, as in `{flag} 2`",
        )
    return value


def seconds(value: float) -> float:
    """Return the seconds of --timeout.

    Raises
    ------
    RequestError : the number is not above 0, or too large.

    """
    return _positive(value, "--timeout")


def gigabytes(value: float) -> int:
    """Return the gigabytes of --max-memory in bytes.

    Raises
    ------
    RequestError : the number is not above 0, or too large.

    """
    return int(_positive(value, "--max-memory") * 1e9)


def _positive(value: float, flag: str) -> float:
    if not 0 < value <= MOST:
        raise RequestError(
            f"{flag} must be above 0 and at most {MOST:g}, got {value:g}",
            place=f"{flag} {value:g}",
            hint=f"pass `{flag} 60`",
        )
    return value


def view_of(
    command: str | None, flags: ViewFlags, console: Console, *, kinds: str | None = None
) -> View:
    """Return how to show a report.

    `command` is the command that runs, or None if a saved report is shown. `kinds` selects the
    events of a saved report.

    Raises
    ------
    RequestError : a column, a kind or the name to sort by is unknown.

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
        sort=parse_sort(flags.sort, command),
        phase=flags.phase,
        kinds=None if picked == ("all",) else picked,
        root=root,
        start=start,
    )
