"""Commands on weights without a model: no model is built, and no process is started."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from hookcli.cli.flags.signatures import option
from hookcli.errors import RequestError

if TYPE_CHECKING:
    from hookcli.cli.flags.options import OutputFlags, RequestFlags, ViewFlags
    from hookcli.console import Console
    from hookcli.report.weights.weights_diff import WeightsDiff
    from hookcli.report.weights.weights_report import WeightsReport


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightsFlags:
    """What to read of a file of weights."""

    no_values: bool = option(
        "--no-values",
        text="Of a file of weights read the header alone: no statistics, in a second.",
        section="Output",
        unset=False,
    )


def weights_named(flags: RequestFlags) -> str | None:
    """Return MODEL if it names weights without a model; no configuration is read."""
    source = flags.model.model
    if source is None or flags.model.config is not None:
        return None
    from hookcli.weights.opening import is_weights

    return source if is_weights(source) else None


def weights_of_check(flags: RequestFlags) -> str | None:
    """Return the file of weights that MODEL or the configuration names, if it is one."""
    from hookcli.weights.opening import is_weights

    source = flags.model.model
    if source is None and flags.model.config is not None:
        from hookcli.cli.requests import config_of

        model = config_of(flags.model).model
        source = None if model is None else model.source
    return source if source is not None and is_weights(source) else None


def check_flags(flags: Any, *, allowed: tuple[str, ...] = ()) -> None:
    """Check that no flag is given that is about running a model.

    Raises
    ------
    RequestError : there is one.
    """
    name = _given(flags, (*allowed, "model", "trust", "data_only"))
    if name is not None:
        flag = {"inputs": "input", "targets": "target"}.get(name, name.replace("_", "-"))
        raise RequestError(
            f"--{flag} cannot be combined with a file of weights: no model runs",
            place=f"--{flag}",
            hint=f"remove `--{flag}`, or pass the Python source of the model",
        )


def _given(group: Any, allowed: tuple[str, ...]) -> str | None:
    """Return the name of a flag that is not as if it was omitted."""
    defaults = type(group)()
    for field in fields(group):
        value = getattr(group, field.name)
        if is_dataclass(value):
            below = _given(value, allowed)
            if below is not None:
                return below
        elif field.name not in allowed and value != getattr(defaults, field.name):
            return field.name
    return None


def inspect_weights(
    source: str,
    flags: RequestFlags,
    *,
    view: ViewFlags,
    output: OutputFlags,
    no_values: bool,
    console: Console,
) -> int:
    """Show the tensors of a file of weights."""
    from hookcli.cli.flags.view import view_of
    from hookcli.cli.output import deliver, parse_targets

    check_flags(flags)
    shown = view_of("weights", view, console)
    targets = parse_targets(output, read=(source,), console=console, kinds=("weights",))
    report = read_report(source, values=not no_values, console=console)
    deliver(report, targets, shown, console)
    return 0


def read_report(source: str, *, values: bool, console: Console) -> WeightsReport:
    """Return the report of weights.

    Raises
    ------
    RequestError, ModelError : they cannot be read.
    """
    from hookcli.weights.inspection import inspect
    from hookcli.weights.opening import open_weights

    weights = open_weights(source, source)
    with _reading(source):
        return inspect(weights, values=values)


def compare_files(a: str, b: str, tolerance: Sequence[tuple[str, float]]) -> WeightsDiff:
    """Return the comparison of two files or folders of weights.

    Raises
    ------
    RequestError, ModelError : one of them cannot be read.
    """
    from hookcli.cli.diff_sides import prefix_side
    from hookcli.errors import HookcliError
    from hookcli.weights.comparing import compare
    from hookcli.weights.opening import open_weights

    opened = []
    for name, source in (("A", a), ("B", b)):
        try:
            opened.append(open_weights(source, source))
        except HookcliError as error:
            raise prefix_side(error, name) from None
    with _reading(f"{a} or {b}"):
        return compare(opened[0], opened[1], tolerance)


@contextmanager
def _reading(source: str) -> Iterator[None]:
    """Turn the errors of reading values into three lines."""
    from hookcli.models.sources.file_errors import damaged_file, reason_of
    from hookcli.sentences import cannot_read
    from hookcli.weights.kinds.single_file import DAMAGE

    try:
        yield
    except OSError as error:
        raise RequestError(
            cannot_read(source, error.strerror or str(error)),
            place=source,
            hint="check the file's permissions, and that nothing removed it",
        ) from None
    except DAMAGE as error:
        raise damaged_file(source, reason_of(error), source) from None
