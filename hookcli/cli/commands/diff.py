"""`hookcli diff`: two models, with one batch and one set of weights, held side by side."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from hookcli.cli.diff_sides import SideRequest, SideText, parse_side, prefix_side, side_request
from hookcli.cli.errors import reporting
from hookcli.cli.execute import while_watched
from hookcli.cli.flags.options import (
    ConsoleFlags,
    GateFlags,
    LimitFlags,
    ModelFlags,
    OutputFlags,
    RequestFlags,
    RunFlags,
    ViewFlags,
    formats_of,
)
from hookcli.cli.flags.signatures import argument, changes, lacks, option
from hookcli.cli.flags.values import view_of
from hookcli.cli.output import Target, check_writable, parse_targets, print_texts, write_files
from hookcli.console import Console
from hookcli.errors import HookcliError, RequestError, Status
from hookcli.formats.registry import DIFF_FORMATS
from hookcli.spec.request import Command

if TYPE_CHECKING:
    from hookcli.comparison.diff import Diff
    from hookcli.comparison.tolerance import Tolerances
    from hookcli.formats.view import View


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFlags:
    """The two that are compared."""

    a: str = argument(
        "A source, with ?dtype=bfloat16&device=cpu&weights=FILE&arg=K=V; a .yaml; a saved .json.",
        metavar="A",
    )
    b: str = argument("What to hold against it: the same.", metavar="B")


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareFlags:
    """What is compared, and how."""

    grads: bool = option("--grads", text="Go backward too, and compare gradients.", unset=False)
    own_weights: bool = option(
        "--own-weights", text="Leave B its weights: A's go in where names fit.", unset=False
    )
    tolerance: tuple[str, ...] = option(
        "--tolerance",
        metavar="[GLOB=]R",
        text="How much of its norm a tensor may differ by, by name; repeat, the last counts.",
        default="by dtype",
        unset=(),
    )
    save: str | None = option(
        "--save", metavar="DIR", text="Keep both reports, and the tensors of the first call."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flags:
    """All flags of the command but the console's."""

    sides: SideFlags
    compare: CompareFlags
    request: RequestFlags
    view: ViewFlags
    output: OutputFlags


def diff(
    sides: SideFlags,
    model: Annotated[ModelFlags, lacks("model", "config", "weights")],
    compare: CompareFlags,
    run: Annotated[
        RunFlags,
        lacks("tensors", "steps"),
        changes("mode", default="eval; train with --grads"),
    ],
    limits: LimitFlags,
    gate: Annotated[
        GateFlags,
        changes("fail_on", text="never: status 0 also where they differ.", default="error"),
    ],
    view: Annotated[ViewFlags, lacks("phase", "depth", "columns", "sort")],
    output: Annotated[OutputFlags, formats_of(DIFF_FORMATS)],
    messages: ConsoleFlags,
) -> int:
    """Show where two models part: inputs agree, the output differs.

    Each is run in a process of its own, with the same batch, seed and weights.
    """
    console = messages.console()
    request = RequestFlags(model=model, run=run, limits=limits, gate=gate)
    flags = _Flags(sides=sides, compare=compare, request=request, view=view, output=output)
    return reporting(console, lambda: _run(flags, console))


def _run(flags: _Flags, console: Console) -> int:
    tolerances = parse_tolerances(flags.compare.tolerance)
    sides = (parse_side(flags.sides.a), parse_side(flags.sides.b))
    if any(side.is_report for side in sides):
        result, targets, view = _of_reports(sides, tolerances, flags, console)
    else:
        result, targets, view = _of_models(sides, tolerances, flags, console)
    deliver_diff(result, targets, view, console)
    if result.verdict == "same" or flags.request.gate.fail_on == "never":
        return Status.FINE
    return Status.FINDINGS


def parse_tolerances(texts: tuple[str, ...]) -> Tolerances:
    """`GLOB=R`, or `R` for all names.

    Raises
    ------
    RequestError : R is no number from 0 on.
    """
    from hookcli.comparison.tolerance import Tolerances

    pairs = []
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
        pairs.append((glob or "*", rtol))
    return Tolerances(tuple(pairs))


def _of_reports(
    sides: tuple[SideText, SideText],
    tolerances: Tolerances,
    flags: _Flags,
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
    if flags.compare.save is not None:
        raise RequestError(
            "there are no tensors in reports",
            place=f"--save {flags.compare.save}",
            hint="leave it out",
        )
    targets = _targets(flags.output, tuple(side.source for side in sides))
    view = view_of("inspect", flags.view, console)
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
    flags: _Flags,
    console: Console,
) -> tuple[Diff, tuple[Target, ...], View]:
    from hookcli.worker.diff import Broken, PairRequest, compare_pair

    command: Command = "grads" if flags.compare.grads else "inspect"
    a, b = (
        _side(name, side, command, flags, console) for name, side in zip("AB", sides, strict=True)
    )
    targets = _targets(flags.output, (*a.read, *b.read))
    if b.request.spec.inputs and not flags.request.model.inputs:
        console.note("B's own inputs are not used: both sides get A's batch")
    request = PairRequest(
        a.request.spec,
        b.request.spec,
        own_weights=flags.compare.own_weights or b.own_weights,
        tolerances=tolerances,
        save=_folder(flags.compare.save),
    )
    result = while_watched(
        functools.partial(compare_pair, request),
        console,
        targets,
        lambda: _load_renderers(targets),
    )
    if isinstance(result, Broken):
        from hookcli.cli.run_error import run_error

        raise prefix_side(run_error(result.report), result.side.upper())
    return result, targets, a.request.view


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
    name: str, side: SideText, command: Command, flags: _Flags, console: Console
) -> SideRequest:
    try:
        return side_request(side, command, flags.request, flags.view, console)
    except HookcliError as error:
        raise prefix_side(error, name) from None


def _targets(flags: OutputFlags, read: tuple[str, ...]) -> tuple[Target, ...]:
    targets = parse_targets(flags, read=read)
    for target in targets:
        if target.format not in DIFF_FORMATS:
            raise RequestError(
                f"diff has no format {target.format}",
                place=f"-f {target.format}",
                hint=f"its formats are {', '.join(DIFF_FORMATS)}",
            )
    return targets


def deliver_diff(result: Diff, targets: tuple[Target, ...], view: View, console: Console) -> None:
    """Render each format and put it where it goes: files first, stdout last."""
    rendered = [
        (target, DIFF_FORMATS[target.format].render_diff(result, view)) for target in targets
    ]
    write_files(rendered)
    print_texts(rendered, console)
