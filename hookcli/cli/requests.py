"""From flags and a configuration to what to run, how to show it, and what counts as failure."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hookcli.cli.flags.options import ModelFlags, OutputFlags, RequestFlags, ViewFlags
from hookcli.cli.flags.view import view_of
from hookcli.cli.input_files import files_read
from hookcli.cli.output import Target, check_separate, check_stream, parse_targets
from hookcli.config.compiled_layers import check_settings
from hookcli.config.config import Config
from hookcli.config.constructor_args import parse_arguments
from hookcli.config.merge import Figures, Flags, spec_of
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.formats.names import FLOW, MEMORY_COLUMNS, TRACE, ColumnFacts
from hookcli.formats.order import sort_key
from hookcli.formats.registry import FORMATS
from hookcli.formats.view import View
from hookcli.models.sources.parse import check_opening, code_in, parse_source
from hookcli.outputs.special_files import seen_by_children
from hookcli.rules.verdict import FailOn
from hookcli.spec.inputs import parse_inputs
from hookcli.spec.request import Command, Spec, parse_argv, parse_method
from hookcli.worker.interpreter.choice import choose, named_by_environment
from hookcli.worker.watched.opened_files import note_named


@dataclass(frozen=True, slots=True)
class Request:
    """A command line, checked as far as possible without torch."""

    spec: Spec
    targets: tuple[Target, ...]
    view: View
    fail_on: FailOn


def request_of(
    command: Command,
    flags: RequestFlags,
    *,
    view: ViewFlags,
    output: OutputFlags,
    console: Console,
    read: Sequence[str | None] = (),
    written: str | None = None,
) -> Request:
    """Return the request of a command's flags.

    `read` are other files that the command reads, and `written` is one that it writes.

    Raises
    ------
    RequestError : the request is wrong; for a configuration with all its errors.

    """
    config = config_of(flags.model)
    shown = view_of(command, view, console)
    spec = spec_of(command, config, _flags(command, flags, shown))
    files = [*files_read(spec, flags.model.config), *(name for name in read if name)]
    note_named(files)
    targets = parse_targets(output, read=files, console=console)
    check_stream(spec.stream, targets, files)
    if spec.stream is not None:
        spec = dataclasses.replace(spec, stream=seen_by_children(spec.stream))
    if written is not None:
        check_separate(written, targets, files)
    if command == "inspect" and not _named(shown).isdisjoint(MEMORY_COLUMNS):
        spec = dataclasses.replace(spec, run=dataclasses.replace(spec.run, memory=True))
        check_settings(spec.run)  # not with --compiled
    check_opening(parse_source(spec.model.source), spec.model)
    _check_gradients(spec, flags.model.config)
    timed = [target.format for target in targets if FORMATS[target.format].needs_timings]
    if timed:
        explicit = flags.run.tensors is not None or "tensors" in config.run
        spec = _timed(spec, timed[0], keep_tensors=explicit)
    if any(FORMATS[target.format].shows_flops for target in targets):
        spec = dataclasses.replace(spec, run=dataclasses.replace(spec.run, flops=True))
    python = choose(spec.run.python)
    spec = dataclasses.replace(spec, run=dataclasses.replace(spec.run, python=python))
    level = flags.gate.fail_on or config.fail_on or ("error" if command == "check" else "never")
    return Request(spec, targets, shown, level)


def config_of(flags: ModelFlags) -> Config:
    """Return the configuration of --config, or an empty one.

    Raises
    ------
    RequestError, ProblemsError : the configuration is wrong, or --data-only refuses it.
    """
    if flags.config is None:
        return Config()
    from hookcli.config.load import read_config  # imports pydantic

    if not flags.data_only:
        return read_config(flags.config)
    named_here, trusted = flags.model is not None, flags.trust
    return read_config(
        flags.config, code=lambda source: None if named_here else code_in(source, trusted=trusted)
    )


def _named(view: View) -> set[str]:
    """Return the columns that a view shows or sorts by, if the user named them."""
    return {*(view.asked or ()), *([] if view.sort is None else [sort_key(view.sort)])}


def _figures(command: Command, names: set[str]) -> Figures | None:
    """Return the statistics that hooks of a preset must record for these columns."""
    table: Mapping[str, ColumnFacts] = {"trace": TRACE, "grads": FLOW}.get(command, {})
    paths = {table[name].stat for name in names if name in table and table[name].stat}
    return None if not paths else "norm" if paths == {("norm",)} else "all"


def _flags(command: Command, flags: RequestFlags, view: View) -> Flags:
    model = flags.model
    return Flags(
        model=model.model,
        args=parse_arguments(model.arg) or None,
        argv=None if model.argv is None else parse_argv(model.argv, f"--argv {model.argv}"),
        method=None if model.method is None else parse_method(model.method, "--method"),
        weights=model.weights,
        trust=model.trust,
        data_only=model.data_only,
        inputs=parse_inputs(model.inputs) or None,
        run={"python": named_by_environment(), **flags.run_fields()},
        kinds=flags.hooks.kinds,
        stream=flags.hooks.stream,
        nproc=flags.ranks.nproc,
        parallel=flags.ranks.parallel,
        statistics=_figures(command, _named(view)),
    )


def _timed(spec: Spec, form: str, *, keep_tensors: bool) -> Spec:
    """Return the request with timings, and with real tensors unless --tensors or a file sets them.

    Operators on fake tensors take no time.
    """
    if spec.command == "inspect":
        raise RequestError(
            f"inspect does not support format '{form}', which shows events",
            place=f"-f {form}",
            hint=f"run `hookcli trace {shlex.quote(spec.model.source)} -f {form}=trace.json`",
        )
    if spec.run.compiled is not None:
        raise RequestError(
            f"format '{form}', which shows times, cannot be combined with --compiled",
            place=f"-f {form}",
            hint="remove `--compiled`: only calls without the compiler are timed",
        )
    run = spec.run if keep_tensors else dataclasses.replace(spec.run, tensors="real")
    return dataclasses.replace(spec, run=run, timings=True)


def _check_gradients(spec: Spec, config: str | None) -> None:
    if spec.command == "grads" and not spec.run.grad:
        raise RequestError(
            "grads requires autograd, which --no-grad disables",
            place="--no-grad" if config is None else f"--no-grad, or run.grad in {config}",
            hint="remove `--no-grad`, or use `hookcli inspect` for the forward",
        )
