"""`hookcli diff`: two models compared, with the same batch and weights, or two trainings."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

from hookcli.cli.diff_sides import (
    OF_COMPILE,
    SideRequest,
    SideText,
    compile_settings_of,
    parse_side,
    plan_of,
    prefix_side,
    side_request,
)
from hookcli.cli.execute import load_renderers, while_watched
from hookcli.cli.flags import completions
from hookcli.cli.flags.options import (
    ConsoleFlags,
    GateFlags,
    LimitFlags,
    ModelFlags,
    OutputFlags,
    RequestFlags,
    RunFlags,
    ViewFlags,
    WatchFlags,
    only_formats,
)
from hookcli.cli.flags.signatures import argument, changes, lacks, option
from hookcli.cli.flags.view import view_of
from hookcli.cli.output import (
    Target,
    check_writable,
    deliver,
    parse_targets,
    status_of,
)
from hookcli.cli.watch.watching import run_command
from hookcli.console import Console
from hookcli.errors import HookcliError, RequestError
from hookcli.formats.registry import formats_of
from hookcli.spec.request import Command

if TYPE_CHECKING:
    from hookcli.comparison.diff import Diff
    from hookcli.comparison.tolerance import Tolerances
    from hookcli.comparison.training.training_diff import TrainingDiff
    from hookcli.formats.view import View
    from hookcli.report.report import Report
    from hookcli.report.weights.weights_diff import WeightsDiff

_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFlags:
    """The two models or reports to compare."""

    a: str = argument(
        "A model, a configuration (.yaml), a saved report (.json), or a file or folder of weights. "
        "A model may have settings: "
        "model.py?dtype=bfloat16&device=cpu&mode=eval&weights=FILE&arg=K=V"
        "&argv=ARGS&python=PATH, and B a parallel plan: &parallel=FILE:FUNCTION&mesh=tp:2, or "
        "compile=BACKEND&mode=MODE&dynamic=true&fullgraph=true.",
        metavar="A",
        complete=completions.models,
    )
    b: str = argument(
        "The model to compare with A; same forms. Or a file or folder of tensors that another "
        "program wrote, which are compared with what the calls of A return.",
        metavar="B",
        complete=completions.models,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareFlags:
    """What to compare, and how exactly."""

    grads: bool = option(
        "--grads",
        text="Run backward too, and compare the gradients.",
        section="Comparison",
        unset=False,
    )
    own_weights: bool = option(
        "--own-weights",
        text="Keep B's own weights; by default B gets A's, matched by name.",
        section="Comparison",
        unset=False,
    )
    map: str | None = option(
        "--map",
        metavar="FILE",
        text="Load A's weights into B through a map, if names differ: a YAML file with a name of B "
        "and the names of A that make it, as in `blocks.{i}.fc1: h.{i}.mlp.c_fc.T`.",
        section="Comparison",
        default="inferred from calls, shapes and names",
    )
    suggest_map: str | None = option(
        "--suggest-map",
        metavar="FILE",
        text="Write the inferred map to FILE.",
        section="Comparison",
    )
    tolerance: tuple[str, ...] = option(
        "--tolerance",
        metavar="[GLOB=]R",
        text="Largest difference, relative to the norm of the tensor, for names that match GLOB; "
        "repeatable, the last match counts.",
        section="Comparison",
        default="by dtype",
        unset=(),
    )
    save: str | None = option(
        "--save",
        metavar="DIR",
        text="Write both reports, and the tensors of the first call that differs, to DIR.",
        section="Output",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Flags:
    """All flags of the command except those of the console."""

    sides: SideFlags
    compare: CompareFlags
    request: RequestFlags
    view: ViewFlags
    output: OutputFlags


EXAMPLES = (
    ("float32 against bfloat16", "hookcli diff model.py 'model.py?dtype=bfloat16'"),
    (
        "a port, whose modules have other names",
        "hookcli diff model.py port.py",
    ),
    (
        "a parallel plan against the model itself",
        "hookcli diff model.py 'model.py?parallel=plan.py:apply&mesh=tp:2'",
    ),
    (
        "the compiled model against the eager one",
        "hookcli diff model.py 'model.py?compile=inductor'",
    ),
)


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
        changes(
            "fail_on",
            text="never: the exit status is 0 even if the models differ.",
            default="error",
        ),
    ],
    view: Annotated[ViewFlags, lacks("phase", "depth", "columns", "sort")],
    output: Annotated[OutputFlags, only_formats(formats_of("diff"))],
    watch: WatchFlags,
    messages: ConsoleFlags,
) -> int:
    """Show the first layer where two models differ.

    Its inputs agree and its output differs. Both models run in separate processes, with the same
    batch, seed and weights. The exit status is 1 if they differ.
    """
    console = messages.console()
    request = RequestFlags(model=model, run=run, limits=limits, gate=gate)
    flags = _Flags(sides=sides, compare=compare, request=request, view=view, output=output)
    return run_command(watch, output, console, lambda: _run(flags, console))


def _run(flags: _Flags, console: Console) -> int:
    tolerances = parse_tolerances(flags.compare.tolerance)
    sides = (parse_side(flags.sides.a), parse_side(flags.sides.b))
    result: Diff | TrainingDiff | WeightsDiff
    if _is_dumps(sides):
        result, targets, view = _of_dumps(sides, tolerances, flags, console)
    elif any(_is_weights(side) for side in sides):
        result, targets, view = _of_weights(sides, tolerances, flags, console)
    elif any(side.is_plan for side in sides):
        result, targets, view = _of_plan(sides, tolerances, flags, console)
    elif any(side.is_compiled for side in sides):
        result, targets, view = _of_compiled(sides, tolerances, flags, console)
    elif any(side.is_report for side in sides):
        result, targets, view = _of_reports(sides, tolerances, flags, console)
    else:
        result, targets, view = _of_models(sides, tolerances, flags, console)
    result = _with_settings(result, sides)
    fail_on = flags.request.gate.fail_on or "error"
    deliver(result, targets, dataclasses.replace(view, fail_on=fail_on), console)
    return status_of(result, fail_on)


def _with_settings(result: _Outcome, sides: tuple[SideText, SideText]) -> _Outcome:
    """Return a comparison of models with what was typed for each side."""
    from hookcli.comparison.diff import Diff

    if not isinstance(result, Diff):
        return result
    a, b = (
        dataclasses.replace(info, settings=side.typed or None)
        for info, side in zip((result.a, result.b), sides, strict=True)
    )
    return dataclasses.replace(result, a=a, b=b)


def parse_tolerances(texts: tuple[str, ...]) -> Tolerances:
    """Return the tolerances of `GLOB=R`, or of `R` for all names.

    Raises
    ------
    RequestError : R is not a number, or is negative or infinite.
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
                f"--tolerance must be a number of at least 0, got '{value}'",
                place=f"--tolerance {text}",
                hint="pass `--tolerance 1e-3` or `--tolerance 'layer4.*=1e-3'`",
            )
        pairs.append((glob or "*", rtol))
    return Tolerances(tuple(pairs))


def _of_reports(
    sides: tuple[SideText, SideText],
    tolerances: Tolerances,
    flags: _Flags,
    console: Console,
) -> tuple[Diff | TrainingDiff, tuple[Target, ...], View]:
    """Compare two saved reports, or two of training scripts. No model and no script runs."""
    from hookcli.comparison.compare import Settings, compare
    from hookcli.comparison.training.compare_trainings import compare_trainings
    from hookcli.report.files import read_any_report
    from hookcli.report.training import TrainingReport

    for side in sides:
        if not side.is_report or side.settings:
            raise RequestError(
                "a saved report can only be compared with a saved report",
                place=side.text,
                hint="give two models, or two reports without settings",
            )
    if flags.compare.save is not None:
        raise RequestError(
            "--save cannot be combined with saved reports, which contain no tensors",
            place=f"--save {flags.compare.save}",
            hint="remove `--save`",
        )
    read = [side.source for side in sides]
    targets = parse_targets(flags.output, read=read, console=console, kinds=("diff", "rundiff"))
    view = view_of("inspect", flags.view, console)
    a, b = (read_any_report(side.source) for side in sides)
    if isinstance(a, TrainingReport) and isinstance(b, TrainingReport):
        return compare_trainings(a, b, tolerances), targets, view
    if isinstance(a, TrainingReport) or isinstance(b, TrainingReport):
        training = sides[0] if isinstance(a, TrainingReport) else sides[1]
        raise RequestError(
            "the report of a training script can only be compared with another one",
            place=training.source,
            hint="give two files that `hookcli run -f json=FILE` wrote",
        )
    for name, report, side in (("A", a, sides[0]), ("B", b, sides[1])):
        if report.error is not None:
            raise RequestError(
                f"{name}: the run of this report failed",
                place=side.text,
                hint="run the model again and save a new report",
            )
    return compare(a, b, Settings(tolerances)), targets, view


def _is_weights(side: SideText) -> bool:
    from hookcli.weights.opening import is_weights

    return is_weights(side.source, beside_config=True)


def _is_dumps(sides: tuple[SideText, SideText]) -> bool:
    """Return whether B has tensors that another program wrote, and A is a model."""
    from hookcli.comparison.ports.dump_files import has_dumps

    a, b = sides
    if a.is_report or b.is_report or a.is_plan or b.settings or _is_weights(a):
        return False
    return has_dumps(b.source) or _is_weights(b)


def _of_dumps(
    sides: tuple[SideText, SideText],
    tolerances: Tolerances,
    flags: _Flags,
    console: Console,
) -> tuple[Diff, tuple[Target, ...], View]:
    """Compare a model with tensors that another program wrote."""
    from hookcli.worker.diff import Broken, compare_with_dumps

    for flag, given in (
        ("--own-weights", flags.compare.own_weights),
        ("--grads", flags.compare.grads),
        ("--map", flags.compare.map is not None),
        ("--suggest-map", flags.compare.suggest_map is not None),
        ("--save", flags.compare.save is not None),
    ):
        if given:
            raise RequestError(
                f"{flag} cannot be combined with files of tensors",
                place=sides[1].text,
                hint=f"remove `{flag}`",
            )
    a = _side("A", sides[0], "inspect", flags, console)
    targets = parse_targets(flags.output, read=a.read, console=console, kinds=("diff",))
    result = while_watched(
        functools.partial(compare_with_dumps, a.request.spec, sides[1].source, tolerances),
        console,
        targets,
        lambda: load_renderers(targets, "diff"),
    )
    if isinstance(result, Broken):
        from hookcli.cli.run_error import run_error

        raise prefix_side(run_error(result.report), result.side.upper())
    return result, targets, a.request.view


def _of_weights(
    sides: tuple[SideText, SideText],
    tolerances: Tolerances,
    flags: _Flags,
    console: Console,
) -> tuple[WeightsDiff, tuple[Target, ...], View]:
    """Compare two files of weights. No model is built."""
    from hookcli.cli.weights.weights_request import check_flags, compare_files

    for side in sides:
        if not _is_weights(side):
            raise RequestError(
                "a file of weights can only be compared with another one",
                place=side.text,
                hint="give two files or folders of weights, or load them: `model.py?weights=FILE`",
            )
        if side.settings:
            raise RequestError(
                "a file of weights accepts no settings",
                place=side.text,
                hint=f"write `{side.source}`",
            )
    check_flags(flags.request, allowed=("fail_on",))
    check_flags(flags.compare, allowed=("tolerance",))
    read = [side.source for side in sides]
    targets = parse_targets(flags.output, read=read, console=console, kinds=("weights_diff",))
    view = view_of("weights", flags.view, console)
    return compare_files(read[0], read[1], tolerances.given), targets, view


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
    read = [*a.read, *b.read]
    targets = parse_targets(flags.output, read=read, console=console, kinds=("diff",))
    if b.request.spec.inputs and not flags.request.model.inputs:
        console.note("the inputs of B are not used: both models get the batch of A")
    compare = flags.compare
    rows = None
    if compare.map is not None:
        from hookcli.config.weight_map import read_weight_map

        rows = read_weight_map(compare.map)
    suggested = None if compare.suggest_map is None else Path(compare.suggest_map)
    if suggested is not None:
        check_writable(suggested)
    request = PairRequest(
        a.request.spec,
        b.request.spec,
        own_weights=compare.own_weights or b.own_weights,
        tolerances=tolerances,
        save=_folder(compare.save),
        map=rows,
    )
    result = while_watched(
        functools.partial(compare_pair, request),
        console,
        targets,
        lambda: load_renderers(targets, "diff"),
    )
    if isinstance(result, Broken):
        from hookcli.cli.run_error import run_error

        raise prefix_side(run_error(result.report), result.side.upper())
    if suggested is not None:
        _write_map(result, suggested, console)
    return result, targets, a.request.view


def _write_map(diff: Diff, file: Path, console: Console) -> None:
    """Write the map of a comparison of two implementations.

    Raises
    ------
    RequestError : it cannot be written.
    """
    import yaml

    from hookcli.sentences import cannot_write
    from hookcli.whole_files import write_whole

    if diff.port is None:
        console.note(f"{file} is not written: the names of A and B agree, and no map is needed")
        return
    head = "# What of A makes each tensor of B: `hookcli diff A B --map FILE` uses it.\n"
    text = head + yaml.safe_dump(
        diff.port.map, sort_keys=False, default_flow_style=None, width=1_000_000, allow_unicode=True
    )
    try:
        write_whole(file, text.encode())
    except OSError as error:
        raise RequestError(
            cannot_write(file, error.strerror),
            place=f"--suggest-map {file}",
            hint="check that the disk is not full, or choose another file",
        ) from None


def _of_plan(
    sides: tuple[SideText, SideText],
    tolerances: Tolerances,
    flags: _Flags,
    console: Console,
) -> tuple[Diff, tuple[Target, ...], View]:
    """Compare a model with its parallel plan, on ranks of this machine."""
    from hookcli.comparison.plan_diff import compare_plan
    from hookcli.worker.compared.plan_run import PlanRequest, run_plan

    _check_plan_sides(sides, flags)
    plan = plan_of(sides[1])
    a, b = (
        _side(name, side, "grads", flags, console) for name, side in zip("AB", sides, strict=True)
    )
    targets = parse_targets(flags.output, read=[*a.read, *b.read], console=console, kinds=("diff",))
    request = PlanRequest(a.request.spec, b.request.spec, plan, tolerances.given)
    outcome = _carried_out(functools.partial(run_plan, request), console, targets)
    source = sides[1].source
    diff = compare_plan(outcome.reference, outcome.compared, outcome.error, plan, source)
    return diff, targets, a.request.view


def _of_compiled(
    sides: tuple[SideText, SideText],
    tolerances: Tolerances,
    flags: _Flags,
    console: Console,
) -> tuple[Diff, tuple[Target, ...], View]:
    """Compare a model with its compiled form."""
    from hookcli.comparison.compile_diff import compare_compiled
    from hookcli.worker.compared.compiled_run import CompileRequest, run_compiled

    if sides[0].is_compiled or sides[0].is_report:
        raise RequestError(
            "a compiled model can only be compared with a model, as A",
            place=sides[0].text,
            hint="write the model first: `hookcli diff A 'A?compile=inductor'`",
        )
    plain = [item for item in sides[1].settings if item[0] not in OF_COMPILE]
    if sides[0].source != sides[1].source or any(s not in plain for s in sides[0].settings):
        raise RequestError(
            "a compiled model can only be compared with the same model",
            place=sides[0].text,
            hint=f"write `{sides[1].source}` as A, and the settings of both at B",
        )
    _refuse_flags(sides[1], flags, "a compiled model")
    settings = compile_settings_of(sides[1])
    b = _side("B", sides[1], "inspect", flags, console)
    targets = parse_targets(flags.output, read=b.read, console=console, kinds=("diff",))
    request = CompileRequest(b.request.spec, settings, tolerances.given)
    outcome = _carried_out(functools.partial(run_compiled, request), console, targets)
    diff = compare_compiled(outcome.reference, outcome.compared, settings, sides[1].source)
    return diff, targets, b.request.view


def _carried_out(
    run: Callable[..., _Outcome | Report], console: Console, targets: tuple[Target, ...]
) -> _Outcome:
    """Run a model and another form of it.

    Raises
    ------
    RequestError : the model alone, side A, failed.
    """
    from hookcli.report.report import Report

    outcome = while_watched(run, console, targets, lambda: load_renderers(targets, "diff"))
    if isinstance(outcome, Report):
        from hookcli.cli.run_error import run_error

        raise prefix_side(run_error(outcome), "A")
    return outcome


def _check_plan_sides(sides: tuple[SideText, SideText], flags: _Flags) -> None:
    """Check that A is a model and B its plan.

    Raises
    ------
    RequestError : A is a plan or a report, or a flag cannot be combined with a plan.
    """
    if sides[0].is_plan or sides[0].is_report:
        raise RequestError(
            "a parallel plan can only be compared with a model, as A",
            place=sides[0].text,
            hint="write the model first: `hookcli diff A 'A?parallel=plan.py:apply&mesh=tp:2'`",
        )
    _refuse_flags(sides[1], flags, "a parallel plan")


def _refuse_flags(side: SideText, flags: _Flags, what: str) -> None:
    for flag, given in (
        ("--own-weights", flags.compare.own_weights),
        ("--save", flags.compare.save is not None),
    ):
        if given:
            raise RequestError(
                f"{flag} cannot be combined with {what}",
                place=side.text,
                hint=f"remove `{flag}`",
            )


def _folder(name: str | None) -> Path | None:
    """Return the folder of --save, created now, so that an error comes before the run."""
    if name is None:
        return None
    folder = Path(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder / "a.json")
    except OSError as error:
        raise RequestError(
            f"cannot create {name}: {error.strerror}",
            place=f"--save {name}",
            hint="choose a folder that you can write to",
        ) from None
    return folder


def _side(
    name: str, side: SideText, command: Command, flags: _Flags, console: Console
) -> SideRequest:
    try:
        return side_request(side, command, flags.request, flags.view, console)
    except HookcliError as error:
        raise prefix_side(error, name) from None
