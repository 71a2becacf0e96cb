"""`hookcli diff`: two models, with one batch and one set of weights, held side by side."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookcli.cli import options
from hookcli.cli.diff_sides import SideRequest, SideText, parse_side, prefix_side, side_request
from hookcli.cli.errors import reporting
from hookcli.cli.execute import while_watched
from hookcli.cli.flag_values import view_of
from hookcli.cli.output import Target, check_writable, parse_targets, write_file
from hookcli.console import Console
from hookcli.errors import HookcliError, RequestError, Status
from hookcli.formats.registry import DIFF_FORMATS
from hookcli.rules.verdict import FailOn
from hookcli.spec.request import Command, Mode

if TYPE_CHECKING:
    from hookcli.comparison.diff import Diff
    from hookcli.comparison.tolerance import Tolerances
    from hookcli.formats.view import View

_SIDE = "A source, with ?dtype=bfloat16&device=cpu&weights=FILE&arg=K=V; a .yaml; a saved .json."


def diff(
    context: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help=_SIDE)],
    b: Annotated[str, typer.Argument(metavar="B", help="What to hold against it: the same.")],
    arg: options.Arguments = None,
    trust: options.Trust = False,
    data_only: options.DataOnly = False,
    inputs: options.Inputs = None,
    batch_size: options.BatchSize = None,
    device: options.Device = None,
    dtype: options.Dtype = None,
    grads: Annotated[
        bool, typer.Option("--grads", help="Go backward too, and compare gradients.")
    ] = False,
    own_weights: Annotated[
        bool,
        typer.Option("--own-weights", help="Leave B its weights: A's go in where names fit."),
    ] = False,
    tolerance: Annotated[
        list[str] | None,
        typer.Option(
            "--tolerance",
            metavar="[GLOB=]R",
            help="How much of its norm a tensor may differ by, by name; repeat, the last counts."
            "  [default: by dtype]",
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(
            "--save", metavar="DIR", help="Keep both reports, and the tensors of the first call."
        ),
    ] = None,
    mode: Annotated[
        Mode | None,
        typer.Option("--mode", help="The mode to run in.  [default: eval; train with --grads]"),
    ] = None,
    seed: options.Seed = None,
    loss: options.Loss = None,
    no_grad: options.NoGrad = None,
    timeout: options.Timeout = None,
    max_memory: options.MaxMemory = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option("--fail-on", help="never: status 0 also where they differ.  [default: error]"),
    ] = None,
    only: options.Only = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "-f",
            "--format",
            metavar="FORMAT[=FILE]",
            help=f"{', '.join(DIFF_FORMATS)}; may be repeated, with files.",
        ),
    ] = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    color: options.Color = "auto",
) -> int:
    """Show where two models part: inputs agree, the output differs.

    Each is run in a process of its own, with the same batch, seed and weights.
    """
    given: Mapping[str, Any] = {**context.params, "depth": None, "columns": None, "sort": None}
    console = Console(color=color, quiet=quiet, verbose=verbose)
    return reporting(console, functools.partial(_run, given, console))


def _run(given: Mapping[str, Any], console: Console) -> int:
    tolerances = parse_tolerances(given["tolerance"] or ())
    sides = (parse_side(given["a"]), parse_side(given["b"]))
    if any(side.is_report for side in sides):
        found, targets, view = _of_reports(sides, tolerances, given, console)
    else:
        found, targets, view = _of_models(sides, tolerances, given, console)
    deliver_diff(found, targets, view, console)
    if found.verdict == "same" or given["fail_on"] == "never":
        return Status.FINE
    return Status.FINDINGS


def parse_tolerances(texts: tuple[str, ...] | list[str]) -> Tolerances:
    """`GLOB=R`, or `R` for all names.

    Raises
    ------
    RequestError : R is no number from 0 on.
    """
    from hookcli.comparison.tolerance import Tolerances

    found = []
    for text in texts:
        glob, _, value = text.rpartition("=")
        try:
            rtol = float(value)
        except ValueError:
            rtol = -1.0
        if not 0 <= rtol < float("inf"):
            raise RequestError(
                f"'{value}' is no tolerance",
                place=f"--tolerance {text}",
                hint="write --tolerance 1e-3, or --tolerance 'layer4.*=1e-3'",
            )
        found.append((glob or "*", rtol))
    return Tolerances(tuple(found))


def _of_reports(
    sides: tuple[SideText, SideText],
    tolerances: Tolerances,
    given: Mapping[str, Any],
    console: Console,
) -> tuple[Diff, tuple[Target, ...], View]:
    """Two saved reports, as far as they tell. Nothing is run."""
    from hookcli.comparison.compare import Settings, compare
    from hookcli.report.files import read_report

    for side in sides:
        if not side.is_report or side.settings:
            raise RequestError(
                "a saved report goes with another one: it holds no batch to run a model with",
                place=side.text,
                hint="name two models, or two reports, without settings",
            )
    if given["save"] is not None:
        raise RequestError(
            "there are no tensors in reports", place=f"--save {given['save']}", hint="leave it out"
        )
    targets = _targets(given, tuple(side.source for side in sides))
    view = view_of("inspect", given, console)
    a, b = (read_report(side.source) for side in sides)
    for name, report, side in (("A", a, sides[0]), ("B", b, sides[1])):
        if report.error is not None:
            raise RequestError(
                f"{name}: this report is of a run that failed", place=side.text, hint="run it again"
            )
    return compare(a, b, Settings(tolerances)), targets, view


def _of_models(
    sides: tuple[SideText, SideText],
    tolerances: Tolerances,
    given: Mapping[str, Any],
    console: Console,
) -> tuple[Diff, tuple[Target, ...], View]:
    from hookcli.worker.diff import Broken, PairRequest, compare_pair

    command: Command = "grads" if given["grads"] else "inspect"
    a, b = (
        _side(name, side, command, given, console) for name, side in zip("AB", sides, strict=True)
    )
    targets = _targets(given, (*a.read, *b.read))
    if b.request.spec.inputs and not given["inputs"]:
        console.note("B's own inputs are not used: both sides get A's batch")
    request = PairRequest(
        a.request.spec,
        b.request.spec,
        own_weights=given["own_weights"] or b.own_weights,
        tolerances=tolerances,
        save=_folder(given["save"]),
    )
    found = while_watched(
        functools.partial(compare_pair, request),
        console,
        targets,
        lambda: _load_renderers(targets),
    )
    if isinstance(found, Broken):
        from hookcli.cli.run_error import run_error

        raise prefix_side(run_error(found.report), found.side.upper())
    return found, targets, a.request.view


def _folder(name: str | None) -> Path | None:
    """The folder of --save, made now: a run should not be for nothing."""
    if name is None:
        return None
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder / "a.json")
    except OSError as error:
        raise RequestError(
            f"{name} cannot be made: {error.strerror}",
            place=f"--save {name}",
            hint="name a folder of yours",
        ) from None
    return folder


def _load_renderers(targets: tuple[Target, ...]) -> None:
    for target in targets:
        DIFF_FORMATS[target.format].load_diff()


def _side(
    name: str, side: SideText, command: Command, given: Mapping[str, Any], console: Console
) -> SideRequest:
    try:
        return side_request(side, command, given, console)
    except HookcliError as error:
        raise prefix_side(error, name) from None


def _targets(given: Mapping[str, Any], read: tuple[str, ...]) -> tuple[Target, ...]:
    targets = parse_targets(given["formats"], given["output"], read=read)
    for target in targets:
        if target.format not in DIFF_FORMATS:
            raise RequestError(
                f"diff has no format {target.format}",
                place=f"-f {target.format}",
                hint=f"its formats are {', '.join(DIFF_FORMATS)}",
            )
    return targets


def deliver_diff(found: Diff, targets: tuple[Target, ...], view: View, console: Console) -> None:
    """Render each format and put it where it goes: files first, stdout last."""
    rendered = [
        (target, DIFF_FORMATS[target.format].render_diff(found, view)) for target in targets
    ]
    for target, text in rendered:
        if target.file is not None:
            write_file(target.file, text)
    for target, text in rendered:
        if target.file is None:
            console.out(text)
