"""From the flags of `hookcli run` and a configuration to the task of the script's process."""

from __future__ import annotations

import dataclasses
import errno
import importlib.util
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from hookcli.cli.flags.signatures import option_names
from hookcli.cli.flags.values import parse_python
from hookcli.cli.help.next_command import command_line, run_hint, typed
from hookcli.cli.output import (
    Target,
    check_stream,
    check_writable,
    parse_targets,
)
from hookcli.cli.training.misplaced_options import misplaced_options
from hookcli.config.config import Config
from hookcli.config.merge import Flags, training_spec_of
from hookcli.console import Console
from hookcli.errors import RequestError
from hookcli.formats.registry import FORMATS
from hookcli.outputs.special_files import kind_of, seen_by_children
from hookcli.rules.verdict import FailOn
from hookcli.sentences import missing, missing_file, no_module
from hookcli.spec.ranks import of_torchrun, with_rank
from hookcli.spec.request import Interpreter, Spec
from hookcli.spec.training import (
    KEPT_BATCHES,
    RunJob,
    ScriptSpec,
    TrainingSpec,
    parse_kept_batches,
    parse_steps,
)
from hookcli.system.supervised_process import can_supervise
from hookcli.worker.interpreter.choice import choose, named_by_environment

if TYPE_CHECKING:
    from hookcli.cli.flags.options import OutputFlags
    from hookcli.cli.flags.script_options import FindingLevel, ScriptFlags, TrainingFlags
    from hookcli.cli.training.against import Earlier
    from hookcli.cli.training.neutral_steps import PlainSteps

BATCH = "hookcli-batch.pt"
_LARGEST = 16 << 20  # bytes of a script in a pipe or a device


@dataclass(frozen=True, slots=True)
class EndRequest:
    """What happens with the report at the end: it is judged, rendered and written.

    `rank` is the number of this process in torchrun. The training is compared with `earlier` ones,
    and its first steps with `plain` ones. Without a target on stdout, a summary is printed on
    stderr. `journal` is the file that the report replaces.
    """

    spec: Spec
    targets: tuple[Target, ...]
    fail_on: FailOn
    console: Console
    rank: int
    earlier: tuple[Earlier, ...] = ()
    plain: PlainSteps | None = None
    journal: str | None = None


@dataclass(frozen=True, slots=True)
class FindingWatch:
    """What is done with a finding while the script runs, if it has at least the `level`.

    It is told on stderr if `tells`, and given to a `command`. `journal` is that of the run.
    """

    journal: str
    level: FindingLevel
    tells: bool
    command: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrainingRequest:
    """A command line of `hookcli run`, checked as far as possible before the script runs.

    `verify_neutral`: the first steps run without hooks in compiled code before. `watch` is what is
    done with findings while the script runs.
    """

    python: Interpreter
    job: RunJob
    end: EndRequest
    verify_neutral: bool = False
    watch: FindingWatch | None = None


def training_request(
    script: ScriptFlags, training: TrainingFlags, *, output: OutputFlags, console: Console
) -> TrainingRequest:
    """Return the request of a command line.

    Raises
    ------
    RequestError : the request is wrong; for a configuration with all its errors.
    """
    spec_of_script = _script(script)
    if script.eager and script.compiled is not None:
        raise RequestError(
            "--eager cannot be combined with --compiled",
            place=f"--compiled {script.compiled}",
            hint="remove `--compiled`: without the compiler, all layers are seen",
        )
    rank = of_torchrun(0)
    own = option_names(type(script), type(training), type(output))
    for option in misplaced_options(spec_of_script, own):
        console.note(f"{option} is an argument of the script: put it before the script's name")
    if script.verify_neutral:
        _check_neutral(script, spec_of_script, is_rank=rank is not None)
    steps = parse_steps(training.steps, f"--steps {training.steps}")
    config = _config(training.config, console)
    named = named_by_environment() if script.python is None else parse_python(script.python)
    spec = training_spec_of(
        training.preset or "grads",
        config,
        Flags(run={"python": named}, kinds=training.kinds, stream=training.stream),
        spec_of_script.name,
    )
    python = choose(spec.run.python)
    if spec_of_script.is_module:
        _check_module(spec_of_script.name, python)
    earlier: tuple[Earlier, ...] = ()
    if training.against is not None or any(check.rule == "same_as" for check in spec.checks):
        from hookcli.cli.training.against import earlier_trainings

        earlier, checks = earlier_trainings(training.against, spec.checks)
        spec = dataclasses.replace(spec, checks=checks)
    compared = [item.file for item in earlier]
    read = [name for name in (training.config, *_read(spec_of_script), *compared) if name]
    targets = _targets(output, read, console)
    check_stream(spec.stream, targets, read, by_this_process=False)
    number = 0 if rank is None else rank.number
    spec = dataclasses.replace(spec, run=dataclasses.replace(spec.run, python=python))
    if spec.stream is not None:
        stream = with_rank(os.path.abspath(spec.stream), number)  # noqa: PTH100
        spec = dataclasses.replace(spec, stream=stream)
    batch = None
    kept = KEPT_BATCHES
    if training.keep_batches is not None:
        place = f"--keep-batches {training.keep_batches}"
        kept = parse_kept_batches(training.keep_batches, place)
    saves_spike = training.keep_batches is not None and kept > 0
    if training.stop_on in {"nonfinite", "spike"} or saves_spike:
        batch = with_rank(os.path.abspath(BATCH), number)  # noqa: PTH100
        check_writable(Path(batch), by_this_process=False)
    job = RunJob(
        script=spec_of_script,
        training=TrainingSpec(
            steps,
            training.max_steps,
            training.stop_on,
            training.root,
            script.eager,
            children=not script.no_children,
            compiled=script.compiled,
            keep_batches=kept,
        ),
        spec=spec,
        batch=batch,
        verbose=console.verbose,
        timed=any(FORMATS[target.format].needs_timings for target in targets),
        started_by=os.getppid(),
    )
    end = EndRequest(
        spec=spec,
        targets=targets,
        fail_on=training.fail_on or config.fail_on or "never",
        console=console,
        rank=number,
        earlier=earlier,
    )
    watch = _finding_watch(training, targets)
    return TrainingRequest(python, job, end, script.verify_neutral, watch)


def _finding_watch(training: TrainingFlags, targets: Sequence[Target]) -> FindingWatch | None:
    """Return what is done with findings while the script runs.

    Raises
    ------
    RequestError : there is no output, or the command does not exist.
    """
    if training.notify is None and training.on_finding is None:
        return None
    place = "--notify" if training.on_finding is None else f"--on-finding {training.on_finding}"
    if os.name == "nt" or not any(target.file is not None for target in targets):
        raise RequestError(
            f"{place.partition(' ')[0]} requires a file with the record of the run",
            place=place,
            hint="add `-o run.json`; Windows has no record while a script runs",
        )
    command: tuple[str, ...] = ()
    if training.on_finding is not None:
        command = _checked_command(training.on_finding, place)
    return FindingWatch("", training.notify or "warning", training.notify is not None, command)


def _checked_command(text: str, place: str) -> tuple[str, ...]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise RequestError(
            f"the command cannot be split into words: {error}",
            place=place,
            hint="close the quotes, or put the command into a file",
        ) from None
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise RequestError(
            f"command not found: {words[0] if words else repr(text)}",
            place=place,
            hint="name a program that exists; no shell runs it",
        )
    return (os.path.abspath(program), *words[1:])  # noqa: PTH100  # the script may change the folder


def _check_neutral(flags: ScriptFlags, script: ScriptSpec, *, is_rank: bool) -> None:
    """Check that the first steps can be compared with those of runs without hooks."""
    place = "--verify-neutral"
    if flags.compiled is None:
        raise RequestError(
            "--verify-neutral compares hooks in compiled code, and requires --compiled",
            place=place,
            hint="add `--compiled layers`; hooks outside of compiled code change nothing",
        )
    if is_rank:
        raise RequestError(
            "--verify-neutral cannot be used in a process of torchrun",
            place=place,
            hint="run the script without torchrun, on one rank",
        )
    if script.source is not None:
        raise RequestError(
            "--verify-neutral runs the script three times, and a pipe can be read once",
            place=script.name,
            hint="write the script to a file, and pass its name",
        )


def _script(flags: ScriptFlags) -> ScriptSpec:
    if flags.module is not None:
        if not flags.module or flags.module.startswith("-"):
            raise RequestError(
                f"-m requires the name of a module, got '{flags.module}'",
                place=command_line(typed()),
                hint="write `-m package.train` before the arguments of the script",
            )
        return ScriptSpec(flags.module, flags.command, is_module=True)
    if not flags.command:
        raise RequestError(
            missing("SCRIPT"),
            place=command_line(typed()),
            hint="name a script, as in `hookcli run train.py`, or a module with `-m MODULE`",
        )
    name, *arguments = flags.command
    return ScriptSpec(name, tuple(arguments), source=_checked_script(name))


def _checked_script(name: str) -> bytes | None:
    """Return the source that a pipe or a device contains, which can be read once; None for files.

    Raises
    ------
    RequestError : it cannot be read, or has no end.
    """
    hint = "check the name, or run a module with `-m MODULE`"
    path = Path(name)
    if name == "-":
        raise RequestError(
            "a script cannot be read from stdin",
            place="SCRIPT -",
            hint="write the script to a file, and pass its name",
        )
    if not name or not os.path.lexists(name):
        raise RequestError(missing_file(name or "''"), place=name, hint=hint)
    if path.is_dir():
        if not any((path / f"__main__{suffix}").is_file() for suffix in (".py", ".pyc")):
            raise RequestError(
                f"{name} is a folder without __main__.py",
                place=name,
                hint=run_hint([command_line(["run", f"{name.rstrip('/')}/train.py"])]),
            )
        return None
    try:
        if kind_of(name) in {"a named pipe", "a device"}:
            return None if os.environ.get("HOOKCLI_RUN") == "0" else _source_in(name)
        with path.open("rb"):
            return None
    except OSError as error:
        from hookcli.plain_files import reason_of
        from hookcli.sentences import cannot_read

        why = reason_of(name, error)
        raise RequestError(cannot_read(name, why), place=name, hint=hint) from None


def _source_in(name: str) -> bytes:
    """Return what a pipe or a device contains. Raises OSError, also if it has no end."""
    from hookcli.plain_files import read_bytes

    source = read_bytes(name, _LARGEST)
    if len(source) > _LARGEST:
        raise OSError(errno.EFBIG, f"it has no end, or is larger than {_LARGEST >> 20} MiB")
    return source


def _check_module(name: str, python: Interpreter) -> None:
    """Check that the module's first package exists, if hookcli's own interpreter runs it."""
    first = name.partition(".")[0]
    if python.path != sys.executable or PathFinder.find_spec(first, [os.getcwd()]) is not None:  # noqa: PTH109
        return
    try:
        found = importlib.util.find_spec(first) is not None
    except (ImportError, ValueError):  # such as a module without a spec
        return
    if not found:
        raise RequestError(
            no_module(name),
            place=f"-m {name}",
            hint="run the command in the folder of the package, or install the package",
        )


def _config(file: str | None, console: Console) -> Config:
    if file is None:
        return Config()
    from hookcli.config.load import read_config  # imports pydantic

    config = read_config(file)
    unused = [
        name
        for name, given in (
            ("model", config.model is not None),
            ("inputs", bool(config.inputs)),
            ("run", bool(config.run.keys() - {"python"})),
        )
        if given
    ]
    if unused:
        console.note(
            f"hookcli run ignores {' and '.join(f'`{name}`' for name in unused)} of {file}: "
            "the script builds the model and its batches"
        )
    return config


def _read(script: ScriptSpec) -> list[str]:
    return [] if script.is_module else [script.name]


def _targets(output: OutputFlags, read: Sequence[str], console: Console) -> tuple[Target, ...]:
    """Return the targets; none without flags, as a summary is printed then."""
    if not output.formats and output.output is None:
        return ()
    return _absolute(
        parse_targets(
            output,
            read=read,
            console=console,
            kinds=("run",),
            default="json",
            by_this_process=can_supervise(),  # else the script's process starts another one
        )
    )


def _absolute(targets: Sequence[Target]) -> tuple[Target, ...]:
    """Return the targets with absolute paths: the script may change the folder."""
    return tuple(
        target if target.file is None else Target(target.format, _seen_at_end(target.file))
        for target in targets
    )


def _seen_at_end(file: Path) -> Path:
    """Return the absolute path of a file for the process that ends the run."""
    return Path(seen_by_children(str(file.absolute())))
